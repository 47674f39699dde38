import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { type FieldError, Problem, problem } from '#platform/problem';
import { SessionDirectory } from '../../agents';
import { ExperimentRepository } from '../experiments/experiment.repository';
import { CandidateSource } from './candidate-source';
import { type Candidate, type Candidates, targetIdOf } from './candidates';
import type { PinnedScorer } from './earlier-scores.repository';
import { KnownTargets } from './known-targets';
import type { ScoringTarget } from './score-run.entity';
import type { ScoreDto } from './scoring.dto';
import { namedIdsOf, type Selection } from './selection';
import { type NamingResult, SelectionRepository } from './selection.repository';

type IdsMember = 'trace_ids' | 'session_ids' | 'agent_ids';

/** Decides what a run is to score, and freezes it. */
@Injectable()
export class TargetSelector {
  constructor(
    private readonly known: KnownTargets,
    private readonly agents: SessionDirectory,
    private readonly experiments: ExperimentRepository,
    private readonly results: SelectionRepository,
    private readonly source: CandidateSource,
  ) {}

  /** The targets of a selection, newest first. Errors: 422 with the count for more than the cap, 400 for none at all. */
  async select(scope: Scope, scorer: PinnedScorer, selection: Selection): Promise<ScoringTarget[]> {
    const named = await this.source.resultsOf(scope, selection);
    const candidates = await this.source.candidates(scope, scorer, selection, named);
    const chosen = await choose(selection, candidates);
    if (chosen.length === 0) {
      const why = selection.unscoredOnly ? ' that this version of the scorer has not scored' : '';
      throw problem.invalidRequest(`The selection holds no ${selection.grain}${why}.`);
    }
    return this.withResults(scope, selection, chosen, named);
  }

  /** 404 naming the ids that are not known. */
  async checkIds(scope: Scope, dto: ScoreDto): Promise<void> {
    const { experimentId, traceIds = [], sessionIds = [], agentIds = [] } = namedIdsOf(dto);
    const errors: FieldError[] = [];
    if (experimentId !== undefined && !(await this.experiments.exists(scope, experimentId))) {
      errors.push({ pointer: '/experiment_id', detail: unknown('experiment', experimentId) });
    }
    const tell = (member: IdsMember, kind: string, known: ReadonlySet<string>): void =>
      dto[member]?.forEach((id, index) => {
        if (!known.has(id)) errors.push({ pointer: `/${member}/${index}`, detail: unknown(kind, id) });
      });
    tell('trace_ids', 'trace', await this.known.traces(scope, traceIds));
    tell('session_ids', 'session', await this.known.sessions(scope, sessionIds));
    if (agentIds.length > 0) {
      tell('agent_ids', 'agent', await this.agents.knownAgents(scope, agentIds));
    }
    if (errors.length === 0) return;
    const more = errors.length > 1 ? ` (and ${errors.length - 1} more, see errors)` : '';
    throw new Problem('not_found', `${errors[0]!.detail}${more}`, { errors });
  }

  /** Adds to each target the result that names it: the experiment's own, else the newest. */
  async withResults(
    scope: Scope,
    { grain }: Pick<Selection, 'grain'>,
    chosen: Candidate[],
    ofExperiment?: NamingResult[],
  ): Promise<ScoringTarget[]> {
    const ids = chosen.map(targetIdOf);
    const naming =
      ofExperiment ??
      (grain === 'trace'
        ? await this.results.newestOfTraces(scope, ids)
        : await this.results.newestOfSessions(scope, ids));
    const sessions =
      ofExperiment && grain === 'session'
        ? await this.source.sessionsOfTraces(
            scope,
            naming.flatMap((result) => (result.session_id === null ? (result.trace_id ?? []) : [])),
          )
        : new Map<string, string>();
    const byTarget = new Map<string, NamingResult>();
    for (const result of naming) {
      const id = grain === 'trace' ? result.trace_id : (result.session_id ?? sessions.get(result.trace_id!));
      if (id != null && !byTarget.has(id)) byTarget.set(id, result);
    }
    return chosen.map(({ trace_id, session_id }, ordinal) => {
      const result = byTarget.get((trace_id ?? session_id)!);
      return {
        ordinal,
        trace_id,
        session_id: session_id ?? result?.session_id ?? null,
        result_experiment_id: result?.experiment_id ?? null,
        result_id: result?.result_id ?? null,
      };
    });
  }
}

async function choose({ limit, cap }: Selection, candidates: Candidates): Promise<Candidate[]> {
  const chosen = await candidates.first(limit ?? cap + 1);
  if (limit === undefined && chosen.length > cap) throw tooMany(await candidates.count(), cap);
  return chosen;
}

const tooMany = (count: number, cap: number): Problem =>
  problem.validationFailed(
    `The selection holds ${count} targets, and at most ${cap} are scored at once. Give a limit or narrow it; ` +
      'with unscored_only the next call goes on where this one ends.',
  );

const unknown = (kind: string, id: string): string =>
  `The ${kind} ${/^[\w.:-]{1,255}$/.test(id) ? id : ''} does not exist or is not visible to you.`.replace(
    '  ',
    ' ',
  );
