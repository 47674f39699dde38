import { type FieldError, problem } from '#platform/problem';
import { conditionErrors, parseConditions } from '../../../telemetry';
import type { Grain } from '../../scorers';
import { CONCURRENCY_DEFAULT, type ScoringOptions } from '../score-runs/scoring-runner';
import type { Selection } from '../targets/candidates';
import type { TargetSelectionDto } from './scoring.dto';

const CONCURRENCY_MAX = 32;
const ID_LISTS = ['trace_ids', 'session_ids', 'agent_ids'] as const;

/**
 * Checks the rules between the members of a request that need no database. Errors: 400 without any selector, for a selector
 * that can never select a target, and for a grain that contradicts the ids.
 */
export function checkSelectors(dto: TargetSelectionDto): void {
  const selectors = [dto.trace_ids, dto.session_ids, dto.agent_ids, dto.experiment_id, dto.since, dto.until];
  if (selectors.every(isAbsent) && !dto.filters?.length) {
    throw problem.invalidRequest(
      'Select what to score: use trace_ids, session_ids, agent_ids, experiment_id, since, until or at least one filter.',
    );
  }
  const errors: FieldError[] = conditionErrors(dto);
  for (const member of ID_LISTS) {
    if (dto[member]?.length === 0) {
      errors.push({ pointer: `/${member}`, detail: 'must not be empty: an empty list selects nothing' });
    }
  }
  const grains = grainsOfIds(dto);
  if (grains.length === 1 && isOtherGrain(dto.grain, grains[0]!)) {
    const member = grains[0] === 'trace' ? 'trace_ids' : dto.session_ids ? 'session_ids' : 'agent_ids';
    errors.push({ pointer: '/grain', detail: `must be ${grains[0]} or absent if you send ${member}` });
  }
  if (errors.length > 0) throw problem.invalidFields(errors);
}

/** The maximum number of targets of a request. */
export interface Cap {
  targets: number;
  /** Where the maximum applies, for the error message, such as `in a batch`. */
  what: string;
}

/** Returns the selection of a checked request. Errors: 422 for a limit over the cap, 400 for a limit of 0. */
export function selectionOf(
  dto: TargetSelectionDto & { limit?: number | null },
  scorerGrain: Grain,
  { targets: cap, what }: Cap,
): Selection {
  const limit = dto.limit ?? undefined;
  if (limit !== undefined && limit > cap) {
    throw problem.validationFailed([{ pointer: '/limit', detail: `must be at most ${cap} ${what}` }]);
  }
  if (limit === 0) {
    throw problem.invalidFields([{ pointer: '/limit', detail: 'must be at least 1: 0 selects nothing' }]);
  }
  return {
    grain: dto.grain ?? grainsOfIds(dto)[0] ?? scorerGrain,
    traceIds: distinct(dto.trace_ids),
    sessionIds: distinct(dto.session_ids),
    agentIds: distinct(dto.agent_ids),
    experimentId: dto.experiment_id ?? undefined,
    ...parseConditions(dto),
    limit,
    cap,
    unscoredOnly: dto.unscored_only === true,
  };
}

export const optionsOf = ({
  concurrency,
  max_cost_usd,
  cache,
}: TargetSelectionDto & { max_cost_usd?: number | null }): ScoringOptions => ({
  concurrency: Math.min(concurrency || CONCURRENCY_DEFAULT, CONCURRENCY_MAX),
  max_cost_usd: max_cost_usd ?? null,
  uses_cache: cache !== false,
});

/** Returns the grains of the ids in a request, traces first. */
function grainsOfIds(dto: TargetSelectionDto): Grain[] {
  const grains: Grain[] = [];
  if (!isAbsent(dto.trace_ids)) grains.push('trace');
  if (!isAbsent(dto.session_ids) || !isAbsent(dto.agent_ids)) grains.push('session');
  return grains;
}

/** Ignores an unknown grain, which is rejected later together with other unknown values. */
const isOtherGrain = (grain: string | null | undefined, expected: Grain): boolean =>
  (grain === 'trace' || grain === 'session') && grain !== expected;

const isAbsent = (value: unknown): boolean => value === null || value === undefined;

const distinct = (ids: string[] | null | undefined): string[] | undefined =>
  ids ? [...new Set(ids)] : undefined;
