"""Draw instances of a space from a seed."""

from random import Random


def draw(space, count, seed=0):
    """Return random instances of a space."""
    random = Random(seed)
    return [space.decode([random.randint(low, high) for low, high in space.bounds]) for _ in range(count)]
