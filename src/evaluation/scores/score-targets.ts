import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { type FieldError, problem } from '#platform/problem';
import { ExperimentRepository } from '../experiments/experiment.repository';
import { KnownTargets } from '../scoring/known-targets';
import { HumanLandingRepository } from './human-landing.repository';
import type { CreateHumanScoreDto } from './human-score.dto';
import type { HumanScoreRow } from './human-score.entity';

const NAMES = ['trace_id', 'session_id', 'result_id'] as const;

/** What a request says that it scores. */
export type NamedTarget =
  | { kind: 'trace' | 'session'; id: string }
  | { kind: 'result'; id: string; /** Where it says so. */ experimentId: string | null };

/** What is scored, as a score keeps it. */
export type FoundTarget = Pick<
  HumanScoreRow,
  'target_kind' | 'trace_id' | 'session_id' | 'experiment_id' | 'result_id'
>;

/** The one target that a request names. 400 for none, for several, or an experiment without a result. */
export function namedTarget(dto: CreateHumanScoreDto): NamedTarget {
  const given = NAMES.filter((name) => dto[name] !== undefined && dto[name] !== null);
  const [name] = given;
  const errors: FieldError[] = [];
  if (name === undefined) {
    errors.push({ pointer: '', detail: `must name what is scored by one of ${NAMES.join(', ')}` });
  }
  for (const other of given.slice(1)) {
    errors.push({
      pointer: `/${other}`,
      detail: `cannot be combined with ${name}: a score is of one target`,
    });
  }
  const experimentId = dto.experiment_id ?? null;
  if (experimentId !== null && name !== 'result_id') {
    errors.push({ pointer: '/experiment_id', detail: 'goes with a result_id: people score its results' });
  }
  if (errors.length > 0) throw problem.invalidFields(errors);
  switch (name!) {
    case 'trace_id':
      return { kind: 'trace', id: dto.trace_id! };
    case 'session_id':
      return { kind: 'session', id: dto.session_id! };
    case 'result_id':
      return { kind: 'result', id: dto.result_id!, experimentId };
  }
}

/** Finds what people score. */
@Injectable()
export class ScoreTargets {
  constructor(
    private readonly known: KnownTargets,
    private readonly experiments: ExperimentRepository,
    private readonly results: HumanLandingRepository,
  ) {}

  /**
   * 404 naming what is not there: a trace that has not arrived and that no result names, a session of no trace and no
   * result, a result that is unknown or of another experiment than the one that is said.
   */
  async find(scope: Scope, target: NamedTarget): Promise<FoundTarget> {
    switch (target.kind) {
      case 'trace': {
        const known = await this.known.traces(scope, [target.id]);
        if (!known.has(target.id)) throw problem.unknownReference('/trace_id', 'trace', target.id);
        return { ...NOTHING, target_kind: 'trace', trace_id: target.id };
      }
      case 'session': {
        const known = await this.known.sessions(scope, [target.id]);
        if (!known.has(target.id)) throw problem.unknownReference('/session_id', 'session', target.id);
        return { ...NOTHING, target_kind: 'session', session_id: target.id };
      }
      case 'result':
        return this.findResult(scope, target.id, target.experimentId);
    }
  }

  private async findResult(scope: Scope, id: string, experimentId: string | null): Promise<FoundTarget> {
    const result = await this.results.findResult(scope, id);
    if (result && (experimentId === null || experimentId === result.experiment_id)) {
      return { target_kind: 'result', ...result };
    }
    if (experimentId !== null && !(await this.experiments.exists(scope, experimentId))) {
      throw problem.unknownReference('/experiment_id', 'experiment', experimentId);
    }
    throw problem.unknownReference('/result_id', 'result', id);
  }
}

const NOTHING = { trace_id: null, session_id: null, experiment_id: null, result_id: null };
