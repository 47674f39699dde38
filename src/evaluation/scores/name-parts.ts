/**
 * Parts of a workspace's traces and sessions that are locked apart from each other. As an upload holds the parts of all
 * that its results name, there are few, so that it never takes many locks.
 */
const NAME_PARTS = 32;

/** The part that a trace or a session falls into, by its id (FNV-1a). */
export function namePartOf(id: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < id.length; i++) hash = Math.imul(hash ^ id.charCodeAt(i), 0x01000193);
  return (hash >>> 0) % NAME_PARTS;
}

/** What a result may name. */
interface Naming {
  trace_id?: string | null;
  session_id?: string | null;
}

/** The parts that the traces and sessions of results fall into, each once. */
export function namePartsOf(results: readonly Naming[]): number[] {
  const parts = new Set<number>();
  for (const { trace_id, session_id } of results) {
    if (typeof trace_id === 'string') parts.add(namePartOf(trace_id));
    if (typeof session_id === 'string') parts.add(namePartOf(session_id));
  }
  return [...parts];
}
