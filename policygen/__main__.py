"""`python -m policygen`."""

from policygen.cli.main import main

if __name__ == "__main__":
    main()
