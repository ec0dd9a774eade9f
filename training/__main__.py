"""`python -m training`."""

from training import main

if __name__ == "__main__":
    main()
