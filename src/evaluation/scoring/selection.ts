import { parseTime } from '#platform/http';
import { type FieldError, problem } from '#platform/problem';
import type { Grain } from '../scorers/scorer.entity';
import type { ScoreMode } from './score-run.entity';
import type { ScoreDto } from './scoring.dto';

/** Targets of one run at most, and of a request that is answered at once. */
export const TARGETS_MAX = { score: 100, test: 5, preview: 5 } as const satisfies Record<ScoreMode, number>;

export const CONCURRENCY_DEFAULT = 4;
export const CONCURRENCY_MAX = 32;

/** What a request to score selects. Absent selectors are undefined; those present narrow each other. */
export interface Selection {
  grain: Grain;
  traceIds: string[] | undefined;
  sessionIds: string[] | undefined;
  agentIds: string[] | undefined;
  experimentId: string | undefined;
  since: Date | undefined;
  until: Date | undefined;
  limit: number | undefined;
  /** Targets there may be. */
  cap: number;
  unscoredOnly: boolean;
}

/**
 * Checks the rules between the members of a request: 400 for one without a selector, a `since` after `until`, and a
 * grain that contradicts the ids. Nothing else is needed for that, so it comes before the scorer is looked for.
 */
export function checkSelectors(dto: ScoreDto): void {
  const selectors = [dto.trace_ids, dto.session_ids, dto.agent_ids, dto.experiment_id, dto.since, dto.until];
  if (selectors.every((selector) => given(selector) === undefined)) {
    throw problem.invalidRequest(
      'Say what is to be scored: trace_ids, session_ids, agent_ids, experiment_id, since or until.',
    );
  }
  const errors: FieldError[] = [];
  const [since, until] = [timeOf(dto.since), timeOf(dto.until)];
  if (since && until && since > until) errors.push({ pointer: '/since', detail: 'is after until' });
  const grains = grainsOfIds(dto);
  if (grains.length === 1 && isOtherGrain(dto.grain, grains[0]!)) {
    const named = grains[0] === 'trace' ? 'trace_ids' : dto.session_ids ? 'session_ids' : 'agent_ids';
    errors.push({ pointer: '/grain', detail: `contradicts ${named}, which name ${grains[0]}s` });
  }
  if (errors.length > 0) throw problem.invalidFields(errors);
}

/** What a request names by ids. */
export type NamedIds = Pick<Selection, 'traceIds' | 'sessionIds' | 'agentIds' | 'experimentId'>;

export const namedIdsOf = (dto: ScoreDto): NamedIds => ({
  traceIds: distinct(dto.trace_ids),
  sessionIds: distinct(dto.session_ids),
  agentIds: distinct(dto.agent_ids),
  experimentId: given(dto.experiment_id),
});

/** What a checked request selects. 422 for a limit over the cap of its mode, 400 for one of 0. */
export function selectionOf(dto: ScoreDto, scorerGrain: Grain): Selection {
  const mode = dto.mode ?? 'score';
  const cap = TARGETS_MAX[mode];
  const limit = given(dto.limit);
  if (limit !== undefined && limit > cap) {
    throw problem.validationFailed([{ pointer: '/limit', detail: `may be at most ${cap} in mode ${mode}` }]);
  }
  if (limit === 0)
    throw problem.invalidFields([{ pointer: '/limit', detail: 'selects nothing where it is 0' }]);
  return {
    ...namedIdsOf(dto),
    grain: given(dto.grain) ?? grainsOfIds(dto)[0] ?? scorerGrain,
    since: timeOf(dto.since),
    until: timeOf(dto.until),
    limit,
    cap,
    unscoredOnly: dto.unscored_only === true,
  };
}

/** How what is selected is to be scored. */
export interface RequestedTerms {
  /** Targets at a time: 4 unless asked for otherwise, and never over 32. */
  concurrency: number;
  /** In US dollars; null for no bound. */
  maxCostUsd: number | null;
  /** Whether what a judge answered before is not asked again. */
  usesCache: boolean;
}

export const termsOf = ({ concurrency, max_cost_usd, cache }: ScoreDto): RequestedTerms => ({
  concurrency: Math.min(concurrency || CONCURRENCY_DEFAULT, CONCURRENCY_MAX),
  maxCostUsd: max_cost_usd ?? null,
  usesCache: cache !== false,
});

/** What the ids of a request are, the finer one first. */
function grainsOfIds(dto: ScoreDto): Grain[] {
  const grains: Grain[] = [];
  if (given(dto.trace_ids)) grains.push('trace');
  if (given(dto.session_ids) ?? given(dto.agent_ids)) grains.push('session');
  return grains;
}

/** A grain that is not known at all is told later, with the other values. */
const isOtherGrain = (grain: string | null | undefined, of: Grain): boolean =>
  (grain === 'trace' || grain === 'session') && grain !== of;

const given = <Value>(value: Value | null | undefined): Value | undefined => value ?? undefined;

const distinct = (ids: string[] | null | undefined): string[] | undefined =>
  ids ? [...new Set(ids)] : undefined;

const timeOf = (text: string | null | undefined): Date | undefined =>
  (text ? parseTime(text) : null) ?? undefined;
