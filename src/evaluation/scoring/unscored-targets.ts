import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import type { IdConditions, TraceSelection, TraceStore } from '../../telemetry';
import type { Grain } from '../scorers/scorer.entity';
import { type Candidate, type Candidates, type ListedCandidates, targetIdOf } from './candidates';
import { EarlierScoresRepository, type PinnedScorer } from './earlier-scores.repository';

/** Listed candidates that are looked up at a time. */
const CHUNK = 5_000;

/** Traces or sessions that the trace store selects, newest first. */
export class StoredCandidates implements Candidates {
  constructor(
    private readonly traces: TraceStore,
    private readonly scope: Scope,
    private readonly grain: Grain,
    private readonly selection: TraceSelection,
  ) {}

  async first(limit: number): Promise<Candidate[]> {
    if (this.grain === 'trace') return this.traces.traceRefs(this.scope, this.selection, limit);
    const sessions = await this.traces.sessionRefs(this.scope, this.selection, limit);
    return sessions.map(({ session_id }) => ({ trace_id: null, session_id }));
  }

  count(): Promise<number> {
    return this.grain === 'trace'
      ? this.traces.countSelectedTraces(this.scope, this.selection)
      : this.traces.countSelectedSessions(this.scope, this.selection);
  }
}

/** Candidates that are kept in tables, of which all are wanted that meet these conditions, too. */
export type CandidatesWhere = (conditions: IdConditions) => Candidates;

/** What a version of a scorer has neither scored nor is about to score: first the never tried, then the failed. */
@Injectable()
export class UnscoredTargets {
  constructor(private readonly earlier: EarlierScoresRepository) {}

  ofStored(scope: Scope, scorer: PinnedScorer, grain: Grain, where: CandidatesWhere): Candidates {
    const { scored, failed, tried, open } = this.earlier.targets(scope, scorer, grain);
    return {
      first: async (limit) => {
        const chosen = await where({ except: [tried, open] }).first(limit);
        if (chosen.length === limit) return chosen;
        const known = new Set(chosen.map(targetIdOf));
        const again = await where({ among: [failed], except: [scored, open] }).first(limit);
        // one that was tried since the first of the two was asked for is in both
        return [...chosen, ...again.filter((one) => !known.has(targetIdOf(one)))].slice(0, limit);
      },
      count: () => where({ except: [scored, open] }).count(),
    };
  }

  ofListed(scope: Scope, scorer: PinnedScorer, grain: Grain, { all }: ListedCandidates): Candidates {
    const first = async (limit: number): Promise<Candidate[]> => {
      const untried: Candidate[] = [];
      const failed: Candidate[] = [];
      for (let at = 0; at < all.length && untried.length < limit; at += CHUNK) {
        const chunk = all.slice(at, at + CHUNK);
        const met = await this.earlier.find(scope, scorer, grain, chunk.map(targetIdOf));
        const earlier = new Map(met.map((one) => [one.target_id, one]));
        for (const candidate of chunk) {
          const known = earlier.get(targetIdOf(candidate));
          if (!known?.is_taken) (known ? failed : untried).push(candidate);
        }
      }
      return [...untried, ...failed].slice(0, limit);
    };
    return { first, count: async () => (await first(Infinity)).length };
  }
}
