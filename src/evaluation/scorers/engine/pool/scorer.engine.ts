import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import type { Owner } from '#platform/concurrency';
import { Environment } from '#platform/config';
import { isJsonObject } from '#platform/json';
import { describeFaults, faultsOfCode, type ScriptDefinition } from '../../definitions/definition.forms';
import type { FormFault } from '../../definitions/form';
import { JavaScriptSandbox } from './javascript.sandbox';
import {
  CHECKS_TIMEOUT_MS,
  DEFAULT_MEMORY_MB,
  DEFAULT_TIMEOUT_MS,
  MAX_DEFINITION_LENGTH,
} from '../../definitions/limits';
import { SandboxPool } from './sandbox.pool';
import type { SandboxPoolOptions, TaskEnding } from './sandbox.pool';
import type { ScoreOutcome, ScoringSubject } from '../score-outcome';
import { encodeSubject } from '../subject.codec';

/** Runs and validates scorers of kind `code`, scripts and checks alike, in a few threads. */
export class ScorerEngine {
  private readonly pool: SandboxPool;
  private readonly sandbox: JavaScriptSandbox;

  constructor(options: SandboxPoolOptions = {}) {
    this.pool = new SandboxPool(options);
    this.sandbox = new JavaScriptSandbox(this.pool);
  }

  /**
   * Scores one subject by a stored definition.
   *
   * @param owner who takes turns with others at the threads, such as a workspace. Defaults to the definition
   * @returns the score, or the item's `error`, whatever definition and subject are
   * @throws the signal's reason when it is aborted; an Error when the engine is closed or no thread can be started
   */
  async run(
    definition: unknown,
    subject: ScoringSubject,
    signal?: AbortSignal,
    owner?: Owner,
  ): Promise<ScoreOutcome> {
    if (isJsonObject(definition) && definition.checks !== undefined) {
      return this.runChecks(definition, subject, signal, owner);
    }
    const faults = faultsOfCode(definition, true);
    if (faults.length > 0) return { error: describeFaults(faults) };
    const {
      source,
      timeout_ms: timeoutMs = DEFAULT_TIMEOUT_MS,
      memory_mb: memoryMb = DEFAULT_MEMORY_MB,
    } = definition as ScriptDefinition;
    return this.sandbox.run({ source, timeoutMs, memoryMb }, subject, signal, owner);
  }

  /**
   * Returns what is wrong with a definition that is to be stored, and for a script also what is wrong with its source,
   * with the line. Works in a thread, so that a hostile definition does not block the caller.
   *
   * @throws as {@link run}
   */
  async validate(definition: unknown, signal?: AbortSignal, owner?: Owner): Promise<FormFault[]> {
    const text = encodeDefinition(definition);
    if (text === undefined) return [TOO_LARGE];
    const task = { kind: 'validate' as const, definition: text };
    const end = await this.pool.run(task, { timeoutMs: CHECKS_TIMEOUT_MS, owner: owner ?? text, signal });
    if ('ended' in end)
      return [{ pointer: '', detail: 'has patterns or schemas that take too long to compile' }];
    if (end.answer.length > 0 || !isJsonObject(definition) || typeof definition.source !== 'string')
      return end.answer;
    const problem = await this.sandbox.checkJavaScript(definition.source, signal, owner);
    return problem === null ? [] : [{ pointer: '/source', detail: problem }];
  }

  private async runChecks(
    definition: unknown,
    subject: ScoringSubject,
    signal: AbortSignal | undefined,
    owner: Owner | undefined,
  ): Promise<ScoreOutcome> {
    const encoded = encodeSubject(subject);
    if ('error' in encoded) return encoded;
    const text = encodeDefinition(definition);
    if (text === undefined) return { error: describeFaults([TOO_LARGE]) };
    const ofSession = subject.trace === undefined;
    const task = { kind: 'checks' as const, definition: text, ofSession, ...encoded };
    const options = { timeoutMs: CHECKS_TIMEOUT_MS, owner: owner ?? text, signal };
    const end = await this.pool.run(task, options);
    return 'answer' in end ? end.answer : { error: CHECKS_ENDED[end.ended] };
  }

  /** Ends all runs and threads. */
  close(): Promise<void> {
    return this.pool.close();
  }
}

const CHECKS_ENDED: Record<TaskEnding, string> = {
  deadline: `the checks did not finish within ${CHECKS_TIMEOUT_MS} ms`,
  crashed: 'the checks could not be run',
};

const TOO_LARGE: FormFault = {
  pointer: '',
  detail: `must be JSON of at most ${MAX_DEFINITION_LENGTH} characters`,
};

function encodeDefinition(definition: unknown): string | undefined {
  try {
    const text = JSON.stringify(definition) ?? 'null';
    return text.length > MAX_DEFINITION_LENGTH ? undefined : text;
  } catch {
    return undefined;
  }
}

/** The engine of the application, with as many threads as the environment configures. Closed with the application. */
@Injectable()
export class CodeEngine extends ScorerEngine implements OnApplicationShutdown {
  constructor(environment: Environment) {
    super({ threads: environment.SCORER_THREADS });
  }

  onApplicationShutdown(): Promise<void> {
    return this.close();
  }
}
