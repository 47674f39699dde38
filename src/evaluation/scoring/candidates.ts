/** What could be scored, before it is decided how much of it is. */
export interface Candidate {
  trace_id: string | null;
  session_id: string | null;
}

export const targetIdOf = ({ trace_id, session_id }: Candidate): string => (trace_id ?? session_id)!;

/** A selection's candidates, in the order in which they are to be taken. Each is there once. */
export interface Candidates {
  /** The first, at most `limit` of them. */
  first(limit: number): Promise<Candidate[]>;
  count(): Promise<number>;
}

/** Candidates that are all known. */
export class ListedCandidates implements Candidates {
  constructor(readonly all: readonly Candidate[]) {}

  first(limit: number): Promise<Candidate[]> {
    return Promise.resolve(this.all.slice(0, limit));
  }

  count(): Promise<number> {
    return Promise.resolve(this.all.length);
  }
}
