"""Dynamic resource allocation: device catalogue, inventory, selectors, allocator."""
