import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { type FieldError, problem } from '#platform/problem';
import { SessionDirectory } from '../../agents';
import { TraceStore } from '../../telemetry';
import { ResultReferenceRepository } from './result-reference.repository';
import type { ScoreFieldsDto } from './score.dto';
import type { ScoreRow, TargetKind } from './score.entity';
import { type ResultTarget, ScoreTargetRepository } from './score-target.repository';

const TARGET_MEMBERS = ['trace_id', 'session_id', 'result_id'] as const;

/** The target that a request names. */
export type NamedTarget =
  | { kind: 'trace' | 'session'; id: string }
  | { kind: 'result'; id: string; experimentId: string | null };

/** A target as a score stores it. */
export type ScoreTarget = Pick<
  ScoreRow,
  | 'target_kind'
  | 'trace_id'
  | 'session_id'
  | 'experiment_id'
  | 'result_id'
  | 'result_version'
  | 'case_id'
  | 'trace_check_at'
>;

/** Returns the target that a request names. Errors: 400 for none, for several, or an experiment without a result. */
export function namedTarget(dto: ScoreFieldsDto): NamedTarget {
  const names = TARGET_MEMBERS.filter((name) => dto[name] !== undefined && dto[name] !== null);
  const [name] = names;
  const errors: FieldError[] = [];
  if (name === undefined) {
    errors.push({ pointer: '', detail: `must name a target by one of ${TARGET_MEMBERS.join(', ')}` });
  }
  for (const other of names.slice(1)) {
    errors.push({
      pointer: `/${other}`,
      detail: `cannot be combined with ${name}, because a score has one target`,
    });
  }
  const experimentId = dto.experiment_id ?? null;
  if (experimentId !== null && name !== 'result_id') {
    errors.push({
      pointer: '/experiment_id',
      detail: 'requires result_id, because results can be scored, but not experiments',
    });
  }
  if (typeof dto.result_version === 'number' && name !== 'result_id') {
    errors.push({ pointer: '/result_version', detail: 'requires result_id' });
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

/**
 * Looks up what can be scored. Traces and sessions are those of the trace store, the sessions of agents, and those that
 * results reference, whose spans may never have arrived. Errors: 503 if traces cannot be read.
 */
@Injectable()
export class TargetDirectory {
  constructor(
    private readonly traceStore: TraceStore,
    private readonly agents: SessionDirectory,
    private readonly results: ResultReferenceRepository,
    private readonly targets: ScoreTargetRepository,
  ) {}

  /** Returns the traces that exist, with their sessions. */
  async traces(scope: Scope, ids: string[]): Promise<Map<string, string | null>> {
    if (ids.length === 0) return new Map();
    const sessionOfTrace = await this.traceStore.findExisting(scope, ids);
    const rest = ids.filter((id) => !sessionOfTrace.has(id));
    if (rest.length === 0) return sessionOfTrace;
    for (const { trace_id, session_id } of await this.results.newestOfTraces(scope, rest)) {
      sessionOfTrace.set(trace_id!, session_id);
    }
    return sessionOfTrace;
  }

  /** Returns the ids of the sessions that exist. */
  async sessions(scope: Scope, ids: string[]): Promise<Set<string>> {
    if (ids.length === 0) return new Set();
    const stored = await this.traceStore.sessionRefs(scope, { session_ids: ids }, ids.length);
    const agentSessions = await this.agents.lastMessages(scope, ids);
    const sessionIds = new Set([...stored.map((session) => session.session_id), ...agentSessions.keys()]);
    const rest = ids.filter((id) => !sessionIds.has(id));
    for (const { session_id } of await this.results.newestOfSessions(scope, rest))
      sessionIds.add(session_id!);
    return sessionIds;
  }

  /**
   * Looks up the targets of scores. The returned function returns the target of a score. A trace that neither the service nor
   * any result knows may still arrive. The function throws 404 naming the reference, for a trace that was deleted, a session that
   * neither the service nor any result knows, and a result that is unknown or belongs to another experiment.
   */
  async find(scope: Scope, named: readonly NamedTarget[]): Promise<(target: NamedTarget) => ScoreTarget> {
    const idsOf = (kind: TargetKind): string[] => [
      ...new Set(named.flatMap((target) => (target.kind === kind ? target.id : []))),
    ];
    const traces = await this.traces(scope, idsOf('trace'));
    const awaited = idsOf('trace').filter((id) => !traces.has(id));
    const deletedTraces = await this.targets.findDeletedTraces(scope, awaited);
    const sessions = await this.sessions(scope, idsOf('session'));
    const results = await this.targets.findResults(scope, idsOf('result'));
    const unknown = named.flatMap((target) =>
      target.kind === 'result' && !isResult(target, results.get(target.id))
        ? (target.experimentId ?? [])
        : [],
    );
    const experiments = await this.targets.findExperiments(scope, unknown);
    return (target) => {
      switch (target.kind) {
        case 'trace': {
          const { id } = target;
          if (deletedTraces.has(id)) throw problem.unknownReference('/trace_id', 'trace', id);
          const session_id = traces.get(id) ?? null;
          const trace_check_at = traces.has(id) ? null : new Date();
          return { ...NO_TARGET, target_kind: 'trace', trace_id: id, session_id, trace_check_at };
        }
        case 'session':
          if (!sessions.has(target.id)) {
            throw problem.unknownReference('/session_id', 'session', target.id);
          }
          return { ...NO_TARGET, target_kind: 'session', session_id: target.id };
        case 'result': {
          const result = results.get(target.id);
          if (isResult(target, result)) return { ...NO_TARGET, target_kind: 'result', ...result };
          const { id, experimentId } = target;
          if (experimentId !== null && !experiments.has(experimentId)) {
            throw problem.unknownReference('/experiment_id', 'experiment', experimentId);
          }
          throw problem.unknownReference('/result_id', 'result', id);
        }
      }
    };
  }
}

/** Whether a result is the one that a request names. */
const isResult = (
  { experimentId }: NamedTarget & { kind: 'result' },
  result: ResultTarget | undefined,
): result is ResultTarget =>
  result !== undefined && (experimentId === null || experimentId === result.experiment_id);

const NO_TARGET = {
  trace_id: null,
  session_id: null,
  experiment_id: null,
  result_id: null,
  result_version: null,
  case_id: null,
  trace_check_at: null,
};
