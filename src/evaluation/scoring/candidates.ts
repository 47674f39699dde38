/** What could be scored, before it is decided how much of it is. */
export interface Candidate {
  trace_id: string | null;
  session_id: string | null;
}

export const targetIdOf = ({ trace_id, session_id }: Candidate): string => (trace_id ?? session_id)!;

/** A selection's candidates, newest first, read a page at a time. */
export interface Candidates {
  page(offset: number, limit: number): Promise<Candidate[]>;
  count(): Promise<number>;
}

/** Candidates that are all known. */
export class ListedCandidates implements Candidates {
  constructor(private readonly all: readonly Candidate[]) {}

  page(offset: number, limit: number): Promise<Candidate[]> {
    return Promise.resolve(this.all.slice(offset, offset + limit));
  }

  count(): Promise<number> {
    return Promise.resolve(this.all.length);
  }
}
