import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { type FieldError, Problem, problem } from '#platform/problem';
import { SessionDirectory } from '../../../agents';
import { ExperimentRepository, type ReferencingResult, ResultReferenceRepository } from '../../experiments';
import type { PinnedScorer } from '../../scorers';
import { KnownTargets } from '../../scores';
import { type ScoreMode, type ScoringTarget, targetIdOf, type TargetRef } from '../runs/score-run.entity';
import { ScoreRunRepository } from '../runs/score-run.repository';
import { CandidateFinder, ExperimentResults } from './candidate-finder';
import { type Selection, takeFirst, unscoredCandidates } from './candidates';

/** Targets of one run, or of one request in `preview` or `test`, at most. */
export const TARGETS_MAX = { score: 100, test: 5, preview: 5 } as const satisfies Record<ScoreMode, number>;

/** Results of an experiment that targets can be selected from, at most. */
const EXPERIMENT_RESULTS_MAX = 100_000;

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
    private readonly known: KnownTargets,
    private readonly agents: SessionDirectory,
    private readonly experiments: ExperimentRepository,
    private readonly results: ResultReferenceRepository,
    private readonly finder: CandidateFinder,
    private readonly runs: ScoreRunRepository,
  ) {}

  /**
   * Returns the targets of a selection, newest first. Errors: 422 for more targets than the cap, with their number, and
   * for an experiment with too many results; 400 for no targets. Throws the signal's reason soon after it is aborted.
   */
  async select(
    scope: Scope,
    scorer: PinnedScorer,
    selection: Selection,
    signal: AbortSignal,
  ): Promise<ScoringTarget[]> {
    const { grain, limit, cap, unscoredOnly } = selection;
    const experimentResults = await this.readExperiment(scope, selection);
    const all = await this.finder.find(scope, selection, signal, experimentResults);
    const candidates = unscoredOnly
      ? unscoredCandidates(all, (ids) => {
          signal.throwIfAborted();
          return this.runs.findEarlier(scope, scorer, grain, ids);
        })
      : all;
    const selected = await takeFirst(candidates, limit ?? cap + 1);
    if (limit === undefined && selected.length > cap) throw tooMany(await candidates.count(), cap);
    if (selected.length === 0) {
      const which = unscoredOnly ? ' that this scorer version has not scored' : '';
      throw problem.invalidRequest(`The selection matches no ${grain}${which}. Widen it.`);
    }
    return this.withResults(scope, grain, selected, experimentResults);
  }

  /** Checks that the ids in a request exist. Errors: 404 that names the unknown ids. */
  async checkIds(scope: Scope, requested: RequestedIds): Promise<void> {
    const { experiment_id = null, trace_ids, session_ids, agent_ids } = requested;
    const errors: FieldError[] = [];
    if (experiment_id !== null && !(await this.experiments.exists(scope, experiment_id))) {
      errors.push({ pointer: '/experiment_id', detail: unknown('experiment', experiment_id) });
    }
    const check = async (
      kind: 'trace' | 'session' | 'agent',
      ids: Ids | undefined,
      findKnown: (distinctIds: string[]) => Promise<ReadonlySet<string>>,
    ): Promise<void> => {
      if (!ids || ids.length === 0) return;
      const known = await findKnown([...new Set(ids)]);
      ids.forEach((id, index) => {
        if (!known.has(id)) errors.push({ pointer: `/${kind}_ids/${index}`, detail: unknown(kind, id) });
      });
    };
    await check('trace', trace_ids, (ids) => this.known.traces(scope, ids));
    await check('session', session_ids, (ids) => this.known.sessions(scope, ids));
    await check('agent', agent_ids, (ids) => this.agents.knownAgents(scope, ids));
    if (errors.length === 0) return;
    const more = errors.length > 1 ? ` (and ${errors.length - 1} more, see errors)` : '';
    throw new Problem('not_found', `${errors[0]!.detail}${more}`, { errors });
  }

  /** Adds to each target the result that names it: the selected experiment's result, else the newest one. */
  async withResults(
    scope: Scope,
    grain: Selection['grain'],
    selected: readonly TargetRef[],
    experimentResults?: ExperimentResults,
  ): Promise<ScoringTarget[]> {
    const lookup = experimentResults ?? this.results;
    const ids = selected.map(targetIdOf);
    const byTarget = new Map<string, ReferencingResult>();
    if (grain === 'trace') {
      for (const result of await lookup.newestOfTraces(scope, ids)) byTarget.set(result.trace_id!, result);
    } else {
      const naming = experimentResults?.all ?? (await this.results.newestOfSessions(scope, ids));
      const sessionOf = await this.finder.sessionOf(scope, naming);
      for (const result of naming) {
        const session = sessionOf(result);
        if (session !== undefined && !byTarget.has(session)) byTarget.set(session, result);
      }
    }
    return selected.map((target, ordinal) => {
      const result = byTarget.get(targetIdOf(target));
      return {
        ordinal,
        trace_id: target.trace_id,
        session_id: target.session_id ?? result?.session_id ?? null,
        result_experiment_id: result?.experiment_id ?? null,
        result_id: result?.result_id ?? null,
      };
    });
  }

  private async readExperiment(
    scope: Scope,
    { experimentId }: Selection,
  ): Promise<ExperimentResults | undefined> {
    if (experimentId === undefined) return undefined;
    const all = await this.results.ofExperiment(scope, experimentId, EXPERIMENT_RESULTS_MAX + 1);
    if (all.length <= EXPERIMENT_RESULTS_MAX) return new ExperimentResults(all);
    const detail = `has more than ${EXPERIMENT_RESULTS_MAX} results; select its traces with trace_ids`;
    throw problem.validationFailed([{ pointer: '/experiment_id', detail }]);
  }
}

const tooMany = (count: number, cap: number): Problem =>
  problem.validationFailed(
    `The selection matches ${count} targets, more than ${cap}. Give a limit or narrow the selection. ` +
      'To score all of them, repeat the request with unscored_only and a limit.',
  );

/** Quotes the id only if it cannot break the sentence. */
const unknown = (kind: string, id: string): string =>
  `The ${kind} ${/^[\w.:-]{1,255}$/.test(id) ? `${id} ` : ''}does not exist or is not visible to you.`;
