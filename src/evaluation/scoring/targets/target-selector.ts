import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { type FieldError, type Problem, problem } from '#platform/problem';
import { SessionDirectory } from '../../../agents';
import { ExperimentRepository } from '../../experiments';
import type { PinnedScorer } from '../../scorers';
import { TargetDirectory } from '../../scores';
import { type ScannedRange, type ScoringTarget, type TargetRef, TARGETS_MAX } from '../score-runs/score-run.entity';
import { ScoreRunRepository } from '../score-runs/score-run.repository';
import { CandidateFinder } from './candidate-finder';
import { type Candidates, type Selection, takeFirst, toTargets, unscoredCandidates } from './candidates';
import { scannedRangeOf } from './result-candidates';

type Ids = readonly string[] | null;

/** The ids in a request to score. */
interface RequestedIds {
  experiment_id?: string | null;
  trace_ids?: Ids;
  session_ids?: Ids;
  agent_ids?: Ids;
}

/** Selects the targets of a run. */
@Injectable()
export class TargetSelector {
  constructor(
    private readonly directory: TargetDirectory,
    private readonly agents: SessionDirectory,
    private readonly experiments: ExperimentRepository,
    private readonly finder: CandidateFinder,
    private readonly runs: ScoreRunRepository,
  ) {}

  /**
   * Returns the targets of a selection, newest first. If the selection covers a whole experiment, also returns the range of
   * results that was scanned. Errors: 422 for more targets than the cap, with their number. Throws the signal's reason soon
   * after it is aborted.
   */
  async select(
    scope: Scope,
    scorer: PinnedScorer,
    selection: Selection,
    signal: AbortSignal,
  ): Promise<{ targets: ScoringTarget[]; scannedRange: ScannedRange | null }> {
    const { limit, cap, unscoredOnly } = selection;
    const scannedRanges = unscoredOnly ? await this.scannedRanges(scope, scorer, selection) : [];
    const candidates = await this.candidates(scope, scorer, selection, signal, scannedRanges);
    const selected = await takeFirst(candidates, limit ?? cap + 1);
    if (limit === undefined && selected.length > cap) throw tooManyTargets(await candidates.count(), cap);
    const targets = toTargets(selected);
    return {
      targets,
      scannedRange: coversExperiment(selection) ? scannedRangeOf(targets, scannedRanges) : null,
    };
  }

  private async scannedRanges(
    scope: Scope,
    scorer: PinnedScorer,
    selection: Selection,
  ): Promise<ScannedRange[]> {
    const { grain, experimentId } = selection;
    return experimentId !== undefined && coversExperiment(selection)
      ? this.runs.scannedRanges(scope, scorer, grain, experimentId)
      : [];
  }

  /**
   * Returns the traces or results of a selection, newest first, up to its limit. If there are more than the cap, returns their
   * number instead. Throws the signal's reason soon after it is aborted.
   */
  async selectOrCount(
    scope: Scope,
    selection: Selection,
    signal: AbortSignal,
  ): Promise<TargetRef[] | number> {
    const { limit, cap } = selection;
    const candidates = await this.finder.find(scope, selection, signal);
    const selected = await takeFirst(candidates, limit ?? cap + 1);
    return selected.length > cap ? candidates.count() : selected;
  }

  /**
   * Returns the candidates of a selection, newest first. With `unscoredOnly`, omits those that the scorer version has scored.
   *
   * @param scannedRanges ranges of results that come last
   */
  async candidates(
    scope: Scope,
    scorer: PinnedScorer,
    selection: Selection,
    signal: AbortSignal,
    scannedRanges: readonly ScannedRange[] = [],
  ): Promise<Candidates> {
    const all = await this.finder.find(scope, selection, signal, scannedRanges);
    if (!selection.unscoredOnly) return all;
    return unscoredCandidates(all, (ids) => {
      signal.throwIfAborted();
      return this.runs.findEarlier(scope, scorer, selection.grain, ids);
    });
  }

  /** Checks that the ids in a request exist. Errors: 404 with the unknown ids. */
  async checkIds(scope: Scope, requested: RequestedIds): Promise<void> {
    const { experiment_id = null, trace_ids, session_ids, agent_ids } = requested;
    const errors: FieldError[] = [];
    if (experiment_id !== null && !(await this.experiments.exists(scope, experiment_id))) {
      errors.push({ pointer: '/experiment_id', detail: unknown('experiment', experiment_id) });
    }
    const check = async (
      kind: 'trace' | 'session' | 'agent',
      ids: Ids | undefined,
      findExisting: (distinctIds: string[]) => Promise<Pick<ReadonlySet<string>, 'has'>>,
    ): Promise<void> => {
      if (!ids || ids.length === 0) return;
      const existing = await findExisting([...new Set(ids)]);
      ids.forEach((id, index) => {
        if (!existing.has(id)) errors.push({ pointer: `/${kind}_ids/${index}`, detail: unknown(kind, id) });
      });
    };
    await check('trace', trace_ids, (ids) => this.directory.traces(scope, ids));
    await check('session', session_ids, (ids) => this.directory.sessions(scope, ids));
    await check('agent', agent_ids, (ids) => this.agents.existingAgents(scope, ids));
    if (errors.length > 0) throw problem.unknownReferences(errors);
  }
}

/** Tells whether a selection covers all results of an experiment. */
const coversExperiment = (selection: Selection): boolean => {
  const { experimentId, traceIds, sessionIds, agentIds, since, until, filters } = selection;
  const narrowing = traceIds ?? sessionIds ?? agentIds ?? since ?? until ?? filters;
  return experimentId !== undefined && narrowing === undefined;
};

/** Returns the error (422) for a selection of more targets than the cap. */
export const tooManyTargets = (count: number, cap: number): Problem =>
  problem.validationFailed(
    [
      `The selection matches ${count} targets, more than ${cap}. Set a limit or narrow the selection.`,
      ...waysToScoreAll(cap),
    ].join(' '),
  );

const waysToScoreAll = (cap: number): string[] => {
  if (cap < TARGETS_MAX.score) return [];
  return cap === TARGETS_MAX.score
    ? ['To score all of them, use POST /eval/v1/scorers/{scorer_id}/batches.']
    : ['To score all of them, repeat the request with unscored_only and a limit.'];
};

/** Returns the detail for an unknown id. Quotes the id only if it cannot break the sentence. */
const unknown = (kind: string, id: string): string =>
  `The ${kind} ${/^[\w.:-]{1,255}$/.test(id) ? `${id} ` : ''}does not exist or is not visible to you.`;
