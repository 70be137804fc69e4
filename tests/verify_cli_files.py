"""A small bundle with its pods and its suite."""

SPEC = """\
apiVersion: policygen.dev/v1alpha1
kind: PlacementPolicy
metadata: {name: ml}
spec:
  kubernetes: "1.36"
  rules:
    - name: gpu
      match: {labels: {kind: training}}
      inject: {env: {NCCL_DEBUG: WARN}}
"""
SUITE = """\
apiVersion: policygen.dev/v1alpha1
kind: PolicySuite
metadata: {name: ml}
policies: policy.yaml
fixtures: pods.yaml
cases:
  - {name: training, object: train, expect: {matched: gpu}}
  - {name: web, object: web, expect: {matched: [], unchanged: true}}
"""
PODS = """\
apiVersion: v1
kind: Pod
metadata: {name: train, namespace: a, labels: {kind: training}}
spec: {containers: [{name: main, image: "t:1"}]}
---
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: a}
spec: {containers: [{name: main, image: "t:1"}]}
"""
