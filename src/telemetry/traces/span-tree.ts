/** What places a span among others. */
interface Placed {
  span_id: string;
  parent_span_id: string | null;
}

/** A span, and how many of those it was read with are above it. */
export type InTree<Span> = Span & { depth: number };

/**
 * Spans in the order of their tree: each before what is below it, and what is below one span in the order given. One
 * whose parent is not among them stands at the top. Parents that form a circle, which none but a mistaken or hostile sender
 * tells, are broken up where the first of them stands. It takes as much time as there are spans, and no stack.
 */
export function inTreeOrder<Span extends Placed>(spans: readonly Span[]): InTree<Span>[] {
  const known = new Set(spans.map(({ span_id }) => span_id));
  const below = new Map<string, Span[]>();
  const top: Span[] = [];
  for (const span of spans) {
    const { parent_span_id: parent } = span;
    if (parent === null || !known.has(parent)) top.push(span);
    else if (below.has(parent)) below.get(parent)!.push(span);
    else below.set(parent, [span]);
  }
  const placed = new Map<string, InTree<Span>>();
  // those that are not below the top are in circles, or below one
  for (const span of [...top, ...spans]) placeAll(span, below, placed);
  return [...placed.values()];
}

function placeAll<Span extends Placed>(
  first: Span,
  below: Map<string, Span[]>,
  placed: Map<string, InTree<Span>>,
): void {
  const waiting = [{ ...first, depth: 0 }];
  for (let span = waiting.pop(); span; span = waiting.pop()) {
    if (placed.has(span.span_id)) continue;
    placed.set(span.span_id, span);
    const children = below.get(span.span_id) ?? [];
    for (let n = children.length - 1; n >= 0; n--) waiting.push({ ...children[n]!, depth: span.depth + 1 });
  }
}
