/** The ids that determine a span's place in the tree. */
interface TreeNode {
  span_id: string;
  parent_span_id: string | null;
}

/** A span, and its depth in the tree of the passed spans. */
export type WithDepth<Span> = Span & { depth: number };

/**
 * Sorts spans in the order of their tree: each before its children, and children in the passed order. A span whose parent is
 * missing is at the top. A cycle of parents, which only a broken or hostile sender sends, is cut at its first span. Runs in
 * linear time, without recursion.
 */
export function sortInTreeOrder<Span extends TreeNode>(spans: readonly Span[]): WithDepth<Span>[] {
  const spanIds = new Set(spans.map(({ span_id }) => span_id));
  const below = new Map<string, Span[]>();
  const top: Span[] = [];
  for (const span of spans) {
    const { parent_span_id: parent } = span;
    if (parent === null || !spanIds.has(parent)) top.push(span);
    else if (below.has(parent)) below.get(parent)!.push(span);
    else below.set(parent, [span]);
  }
  const visited = new Map<string, WithDepth<Span>>();
  // spans that are not below the top are in a cycle, or below one
  for (const span of [...top, ...spans]) visitSubtree(span, below, visited);
  return [...visited.values()];
}

function visitSubtree<Span extends TreeNode>(
  first: Span,
  below: Map<string, Span[]>,
  visited: Map<string, WithDepth<Span>>,
): void {
  const stack = [{ ...first, depth: 0 }];
  for (let span = stack.pop(); span; span = stack.pop()) {
    if (visited.has(span.span_id)) continue;
    visited.set(span.span_id, span);
    const children = below.get(span.span_id) ?? [];
    for (let n = children.length - 1; n >= 0; n--) stack.push({ ...children[n]!, depth: span.depth + 1 });
  }
}
