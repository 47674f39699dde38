import { parseTime } from '#platform/http';
import { type FieldError, problem } from '#platform/problem';
import type { Grain } from '../scorers';
import type { ScoreMode } from './score-run.entity';
import type { ScoreDto } from './scoring.dto';

/** Targets of one run, or of one request in `preview` or `test`, at most. */
export const TARGETS_MAX = { score: 100, test: 5, preview: 5 } as const satisfies Record<ScoreMode, number>;

export const CONCURRENCY_DEFAULT = 4;
const CONCURRENCY_MAX = 32;

/** The targets that a request selects. Selectors that are undefined do not narrow; the others narrow each other. */
export interface Selection {
  grain: Grain;
  traceIds: string[] | undefined;
  sessionIds: string[] | undefined;
  agentIds: string[] | undefined;
  experimentId: string | undefined;
  since: Date | undefined;
  until: Date | undefined;
  limit: number | undefined;
  /** The most targets that there may be. */
  cap: number;
  unscoredOnly: boolean;
}

/**
 * Checks the rules between the members of a request, which need nothing from the database. Errors: 400 without any
 * selector, for a `since` after `until`, and for a grain that contradicts the ids.
 */
export function checkSelectors(dto: ScoreDto): void {
  const selectors = [dto.trace_ids, dto.session_ids, dto.agent_ids, dto.experiment_id, dto.since, dto.until];
  if (selectors.every((selector) => given(selector) === undefined)) {
    throw problem.invalidRequest(
      'Select what to score: give trace_ids, session_ids, agent_ids, experiment_id, since or until.',
    );
  }
  const errors: FieldError[] = [];
  const [since, until] = [timeOf(dto.since), timeOf(dto.until)];
  if (since && until && since > until) {
    errors.push({ pointer: '/since', detail: 'must not be later than until' });
  }
  const grains = grainsOfIds(dto);
  if (grains.length === 1 && isOtherGrain(dto.grain, grains[0]!)) {
    const member = grains[0] === 'trace' ? 'trace_ids' : dto.session_ids ? 'session_ids' : 'agent_ids';
    errors.push({ pointer: '/grain', detail: `must be ${grains[0]} or absent when ${member} is given` });
  }
  if (errors.length > 0) throw problem.invalidFields(errors);
}

/** The ids in a request. */
type SelectedIds = Pick<Selection, 'traceIds' | 'sessionIds' | 'agentIds' | 'experimentId'>;

export const selectedIdsOf = (dto: ScoreDto): SelectedIds => ({
  traceIds: distinct(dto.trace_ids),
  sessionIds: distinct(dto.session_ids),
  agentIds: distinct(dto.agent_ids),
  experimentId: given(dto.experiment_id),
});

/** Returns the selection of a checked request. Errors: 422 for a limit over the cap of the mode, 400 for a limit of 0. */
export function selectionOf(dto: ScoreDto, scorerGrain: Grain): Selection {
  const mode = dto.mode ?? 'score';
  const cap = TARGETS_MAX[mode];
  const limit = given(dto.limit);
  if (limit !== undefined && limit > cap) {
    throw problem.validationFailed([{ pointer: '/limit', detail: `must be at most ${cap} in mode ${mode}` }]);
  }
  if (limit === 0) {
    throw problem.invalidFields([{ pointer: '/limit', detail: 'must be at least 1: 0 selects nothing' }]);
  }
  return {
    ...selectedIdsOf(dto),
    grain: given(dto.grain) ?? grainsOfIds(dto)[0] ?? scorerGrain,
    since: timeOf(dto.since),
    until: timeOf(dto.until),
    limit,
    cap,
    unscoredOnly: dto.unscored_only === true,
  };
}

/** How a request wants its targets scored. */
export interface ScoringOptions {
  /** Targets scored at a time. */
  concurrency: number;
  /** In US dollars; null for no limit. */
  max_cost_usd: number | null;
  /** Whether earlier answers of a judge are reused. */
  uses_cache: boolean;
}

export const optionsOf = ({ concurrency, max_cost_usd, cache }: ScoreDto): ScoringOptions => ({
  concurrency: Math.min(concurrency || CONCURRENCY_DEFAULT, CONCURRENCY_MAX),
  max_cost_usd: max_cost_usd ?? null,
  uses_cache: cache !== false,
});

/** The grains of the ids in a request, the finer one first. */
function grainsOfIds(dto: ScoreDto): Grain[] {
  const grains: Grain[] = [];
  if (given(dto.trace_ids)) grains.push('trace');
  if (given(dto.session_ids) ?? given(dto.agent_ids)) grains.push('session');
  return grains;
}

/** An unknown grain is refused later, with the other values. */
const isOtherGrain = (grain: string | null | undefined, of: Grain): boolean =>
  (grain === 'trace' || grain === 'session') && grain !== of;

const given = <Value>(value: Value | null | undefined): Value | undefined => value ?? undefined;

const distinct = (ids: string[] | null | undefined): string[] | undefined =>
  ids ? [...new Set(ids)] : undefined;

const timeOf = (text: string | null | undefined): Date | undefined =>
  (text ? parseTime(text) : null) ?? undefined;
