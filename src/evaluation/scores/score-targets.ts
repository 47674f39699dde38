import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { type FieldError, problem } from '#platform/problem';
import { SessionDirectory } from '../../agents';
import { TraceStore } from '../../telemetry';
import { ResultReferenceRepository } from './result-reference.repository';
import type { CreateScoreDto } from './score.dto';
import type { ScoreRow } from './score.entity';
import { ScoreTargetRepository } from './score-target.repository';

const TARGET_MEMBERS = ['trace_id', 'session_id', 'result_id'] as const;

/** The target that a request names. */
export type NamedTarget =
  | { kind: 'trace' | 'session'; id: string }
  | { kind: 'result'; id: string; experimentId: string | null };

/** A target as a score stores it. */
export type ScoreTarget = Pick<
  ScoreRow,
  'target_kind' | 'trace_id' | 'session_id' | 'experiment_id' | 'result_id' | 'result_version' | 'case_id'
>;

/** Returns the target that a request names. Errors: 400 for none, for several, or an experiment without a result. */
export function namedTarget(dto: CreateScoreDto): NamedTarget {
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
    const stored = await this.traceStore.traceRefs(scope, { trace_ids: ids }, ids.length);
    const sessionOfTrace = new Map(stored.map((trace) => [trace.trace_id, trace.session_id]));
    const rest = ids.filter((id) => !sessionOfTrace.has(id));
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
   * Finds the target of a score. Errors: 404 naming the reference, for a trace or session that neither the service nor any result knows,
   * and for a result that is unknown or belongs to another experiment.
   */
  async find(scope: Scope, target: NamedTarget): Promise<ScoreTarget> {
    switch (target.kind) {
      case 'trace': {
        const traces = await this.traces(scope, [target.id]);
        if (!traces.has(target.id)) throw problem.unknownReference('/trace_id', 'trace', target.id);
        const session_id = traces.get(target.id)!;
        return { ...NO_TARGET, target_kind: 'trace', trace_id: target.id, session_id };
      }
      case 'session': {
        const sessions = await this.sessions(scope, [target.id]);
        if (!sessions.has(target.id)) throw problem.unknownReference('/session_id', 'session', target.id);
        return { ...NO_TARGET, target_kind: 'session', session_id: target.id };
      }
      case 'result':
        return this.findResult(scope, target.id, target.experimentId);
    }
  }

  private async findResult(scope: Scope, id: string, experimentId: string | null): Promise<ScoreTarget> {
    const result = await this.targets.findResult(scope, id);
    if (result && (experimentId === null || experimentId === result.experiment_id)) {
      return { target_kind: 'result', ...result };
    }
    if (experimentId !== null && !(await this.targets.experimentExists(scope, experimentId))) {
      throw problem.unknownReference('/experiment_id', 'experiment', experimentId);
    }
    throw problem.unknownReference('/result_id', 'result', id);
  }
}

const NO_TARGET = {
  trace_id: null,
  session_id: null,
  experiment_id: null,
  result_id: null,
  result_version: null,
  case_id: null,
};
