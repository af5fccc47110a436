"""What the About page says of the method."""

from __future__ import annotations

from calc.words import marked

INTRODUCTION = marked("""
One decode step makes one token for every sequence of the batch. It reads each sequence's KV cache,
and it reads the weights once, or multiplies by them if that takes longer. The ledger adds the bytes
and the FLOPs, divides by what the chips can move and do, and says which of the two takes the time.
At fidelity **bound** the step is
""")

METHOD = marked("""
It is a lower bound that anybody can check: weights and cache fully sharded, memory and compute
perfectly overlapped within the linear layers, no communication, no kernel overhead, attention FLOPs
hidden behind the cache read. Well-tuned engines come within about 1.5 × of it where
bandwidth rules.

What it counts with care:

- **Weights read** leave out an untied input embedding, which is gathered, and include a tied one,
  which is the output head. Of routed experts only the distinct ones that the batch hits are read:
  $E\\,(1-(1-k/E)^B)$ per layer.
- **Cache** is summed over the model's own layers: grouped KV heads, latent (MLA) layers without a
  factor 2, sliding windows that stop growing.
- **Chips divide time.** Twice the chips halve the step and leave tokens per second per chip alone.
- **Formats** count their scales: 4-bit weights in groups of 128 cost 4.125 bits.
- **Peaks are dense**, bytes are SI (1 GB is 10⁹ B), one multiply-add is 2 FLOP.
- **Unknown stays unknown.** A figure that no source publishes is shown as not published. Times that
  need it are given as "at least", with what is missing taken as unlimited.
""")
