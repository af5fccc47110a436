"""Number formats: how many bits one element costs in memory, and which compute rate it can use."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

USES = ("weights", "kv", "compute")


@dataclass(frozen=True, slots=True)
class NumberFormat:
    """A way to store, and perhaps multiply, numbers.

    Parameters
    ----------
    id, name : str
        Slug used in links, and the name shown to people.
    bits : float
        Bits per element, scales and zero points included [bit].
    rate : str or None
        Key of the chip's peak rate when matrix products run in this format; None if they cannot.
    uses : tuple of str
        Which of weights, kv, compute the format is offered for.
    vector_scale_bytes : float
        For caches: bytes of scale beside each cached vector, a head's key or value [byte].
    rope_bits : float or None
        For latent caches: bits of the RoPE part when it is stored in another format.
    group : int
        Elements of a row that share a scale, which a split must not cut; 1 for none.
    sources : tuple of str
        Where the size comes from.

    Notes
    -----
    Effective bits with group metadata are ``b + (b_scale + b_zero) / group``, F9.2.
    """

    id: str
    name: str = field(compare=False)
    bits: float
    rate: str | None = None
    uses: tuple[str, ...] = field(default=USES, compare=False)
    vector_scale_bytes: float = 0.0
    rope_bits: float | None = None
    group: int = 1
    sources: tuple[str, ...] = field(default=(), compare=False)
    note: str = field(default="", compare=False)

    @property
    def bytes(self) -> float:
        """Bytes per element, metadata included [byte].

        >>> NumberFormat("int4-g128", "int4, groups of 128", 4.125).bytes
        0.515625
        """
        return self.bits / 8

    @property
    def uniform(self) -> NumberFormat:
        """As weights: the format of all parts (see `checkpoint.Stored`)."""
        return self

    @property
    def described(self) -> str:
        """As weights: what their format is called."""
        return self.id

    def of(self, part: str) -> NumberFormat:
        """As weights: the format of any part."""
        return self

    def multiplied(self, part: str, compute_format: NumberFormat) -> NumberFormat:
        """As weights: the format that products are chosen to be in."""
        return compute_format

    def scaled(self, factor: float) -> NumberFormat:
        """A format that costs so many times the bytes, for asking what they weigh.

        Nobody offers it: it is for comparing, and stands in no catalogue.

        >>> NumberFormat("int8", "int8", 8).scaled(0.5).bytes
        0.5
        """
        return replace(
            self,
            id=f"{self.id}×{factor:g}",
            name=f"{self.name} × {factor:g}",
            bits=self.bits * factor,
            vector_scale_bytes=self.vector_scale_bytes * factor,
            rope_bits=None if self.rope_bits is None else self.rope_bits * factor,
        )
