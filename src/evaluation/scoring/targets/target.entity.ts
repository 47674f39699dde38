import type { Grain, PinnedScorer } from '../../scorers';

export const SCORE_MODES = ['score', 'preview', 'test'] as const;
export type ScoreMode = (typeof SCORE_MODES)[number];

/** Maximum number of targets of one run, and of one request in `preview` or `test`. */
export const TARGETS_MAX = { score: 100, test: 5, preview: 5 } as const satisfies Record<ScoreMode, number>;

/** A target: a trace with its session, if it has one; a session; or a result with the trace and session that it names. */
export interface TargetRef {
  /** One of these two may be null; for a result, both may be. */
  trace_id: string | null;
  session_id: string | null;
  /** These are set only if the target is a result. */
  result_experiment_id?: string | null;
  result_id?: string | null;
  result_version?: number | null;
  case_id?: string | null;
}

/** A target of a run. */
export interface ScoringTarget extends Required<TargetRef> {
  ordinal: number;
}

/** A range of the result ids of an experiment that a selection has scanned. Both ends are inclusive. */
export interface ScannedRange {
  from: string;
  to: string;
}

/** A version of a scorer, and what it scores. */
export interface VersionAtGrain extends PinnedScorer {
  grain: Grain;
}

/** Tells whether a target is a result. */
export const isResult = ({ result_version }: TargetRef): boolean => typeof result_version === 'number';

/** Returns the id of a target in the tables. For a result, it includes the version that is scored. */
export const targetIdOf = (target: TargetRef): string =>
  isResult(target) ? `${target.result_id}@${target.result_version}` : (target.trace_id ?? target.session_id)!;

/** Returns selected targets as the targets of a run or a batch, in the same order. */
export const toTargets = (selected: readonly TargetRef[], firstOrdinal = 0): ScoringTarget[] =>
  selected.map((target, index) => ({
    ordinal: firstOrdinal + index,
    trace_id: target.trace_id,
    session_id: target.session_id,
    result_experiment_id: target.result_experiment_id ?? null,
    result_id: target.result_id ?? null,
    result_version: target.result_version ?? null,
    case_id: target.case_id ?? null,
  }));
