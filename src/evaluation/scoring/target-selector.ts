import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { type FieldError, Problem, problem } from '#platform/problem';
import { SessionDirectory } from '../../agents';
import { ExperimentRepository, type ReferencingResult, ResultReferenceRepository } from '../experiments';
import type { PinnedScorer } from '../scorers';
import { KnownTargets } from '../scores';
import type { ScoringTarget } from './score-run.entity';
import { ScoreRunRepository } from './score-run.repository';
import type { ScoreDto } from './scoring.dto';
import { CandidateFinder, ExperimentResults } from './candidate-finder';
import { type Candidate, firstOf, targetIdOf, unscoredOf } from './candidates';
import { selectedIdsOf, type Selection } from './selection';

/** Results of an experiment that a selection may be made from. */
const EXPERIMENT_RESULTS_MAX = 100_000;

type IdsMember = 'trace_ids' | 'session_ids' | 'agent_ids';

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
   * Returns the targets of a selection, newest first. Errors: 422 for more than the cap, with the count, and for an
   * experiment with too many results; 400 for none at all. Throws the signal's reason soon after it is aborted.
   */
  async select(
    scope: Scope,
    scorer: PinnedScorer,
    selection: Selection,
    signal: AbortSignal,
  ): Promise<ScoringTarget[]> {
    const { grain, limit, cap, unscoredOnly } = selection;
    const ofExperiment = await this.resultsOf(scope, selection);
    const all = await this.finder.find(scope, selection, signal, ofExperiment);
    const candidates = unscoredOnly
      ? unscoredOf(all, (ids) => {
          signal.throwIfAborted();
          return this.runs.findEarlier(scope, scorer, grain, ids);
        })
      : all;
    const chosen = await firstOf(candidates, limit ?? cap + 1);
    if (limit === undefined && chosen.length > cap) throw tooMany(await candidates.count(), cap);
    if (chosen.length === 0) {
      const which = unscoredOnly ? ' that this scorer version has not scored' : '';
      throw problem.invalidRequest(`The selection matches no ${grain}${which}. Widen it.`);
    }
    return this.withResults(scope, grain, chosen, ofExperiment);
  }

  /** Checks the ids in a request. Errors: 404 naming the unknown ones. */
  async checkIds(scope: Scope, dto: ScoreDto): Promise<void> {
    const { experimentId, traceIds = [], sessionIds = [], agentIds = [] } = selectedIdsOf(dto);
    const errors: FieldError[] = [];
    if (experimentId !== undefined && !(await this.experiments.exists(scope, experimentId))) {
      errors.push({ pointer: '/experiment_id', detail: unknown('experiment', experimentId) });
    }
    const check = (member: IdsMember, kind: string, known: ReadonlySet<string>): void =>
      dto[member]?.forEach((id, index) => {
        if (!known.has(id)) errors.push({ pointer: `/${member}/${index}`, detail: unknown(kind, id) });
      });
    check('trace_ids', 'trace', await this.known.traces(scope, traceIds));
    check('session_ids', 'session', await this.known.sessions(scope, sessionIds));
    if (agentIds.length > 0) check('agent_ids', 'agent', await this.agents.knownAgents(scope, agentIds));
    if (errors.length === 0) return;
    const more = errors.length > 1 ? ` (and ${errors.length - 1} more, see errors)` : '';
    throw new Problem('not_found', `${errors[0]!.detail}${more}`, { errors });
  }

  /** Adds to each target the result that names it: that of the experiment, else the newest. */
  async withResults(
    scope: Scope,
    grain: Selection['grain'],
    chosen: readonly Candidate[],
    ofExperiment?: ExperimentResults,
  ): Promise<ScoringTarget[]> {
    const lookup = ofExperiment ?? this.results;
    const ids = chosen.map(targetIdOf);
    const byTarget = new Map<string, ReferencingResult>();
    if (grain === 'trace') {
      for (const result of await lookup.newestOfTraces(scope, ids)) byTarget.set(result.trace_id!, result);
    } else {
      const naming = ofExperiment?.all ?? (await this.results.newestOfSessions(scope, ids));
      const sessionOf = await this.finder.sessionOf(scope, naming);
      for (const result of naming) {
        const session = sessionOf(result);
        if (session !== undefined && !byTarget.has(session)) byTarget.set(session, result);
      }
    }
    return chosen.map((candidate, ordinal) => {
      const result = byTarget.get(targetIdOf(candidate));
      return {
        ordinal,
        trace_id: candidate.trace_id,
        session_id: candidate.session_id ?? result?.session_id ?? null,
        result_experiment_id: result?.experiment_id ?? null,
        result_id: result?.result_id ?? null,
      };
    });
  }

  private async resultsOf(scope: Scope, { experimentId }: Selection): Promise<ExperimentResults | undefined> {
    if (experimentId === undefined) return undefined;
    const all = await this.results.ofExperiment(scope, experimentId, EXPERIMENT_RESULTS_MAX + 1);
    if (all.length <= EXPERIMENT_RESULTS_MAX) return new ExperimentResults(all);
    const detail = `has more than ${EXPERIMENT_RESULTS_MAX} results; select its traces with trace_ids`;
    throw problem.validationFailed([{ pointer: '/experiment_id', detail }]);
  }
}

const tooMany = (count: number, cap: number): Problem =>
  problem.validationFailed(
    `The selection holds ${count} targets, more than ${cap}. Give a limit or narrow the selection. ` +
      'To score all of them, repeat the request with unscored_only and a limit.',
  );

/** An id that could break the sentence is left out. */
const unknown = (kind: string, id: string): string =>
  `The ${kind} ${/^[\w.:-]{1,255}$/.test(id) ? `${id} ` : ''}does not exist or is not visible to you.`;
