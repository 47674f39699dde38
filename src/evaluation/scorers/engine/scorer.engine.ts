import { isJsonObject } from '#platform/json';
import { isScript } from './definition/code.definition';
import type { DefinitionProblem } from './definition/code.definition';
import { describeProblems, parseCodeDefinition } from './definition/definition.validator';
import { JavaScriptSandbox } from './javascript/javascript.sandbox';
import { CHECKS_TIMEOUT_MS, MAX_DEFINITION_LENGTH } from './limits';
import { SandboxPool } from './pool/sandbox.pool';
import type { SandboxPoolOptions, TaskEnding } from './pool/sandbox.pool';
import type { ScoreOutcome, ScoringSubject } from './score-outcome';
import { encodeSubject } from './subject.codec';

/**
 * Runs and validates scorers of kind `code` (contract section 10): scripts and checks, both in the same few threads,
 * apart from the process that serves.
 */
export class ScorerEngine {
  private readonly pool: SandboxPool;
  private readonly sandbox: JavaScriptSandbox;

  constructor(options: SandboxPoolOptions = {}) {
    this.pool = new SandboxPool(options);
    this.sandbox = new JavaScriptSandbox(this.pool);
  }

  /**
   * Scores one subject by a definition as it is stored.
   *
   * @param owner whose turn it uses in the queue before the threads, such as a workspace; by default the definition's
   * @returns the score, or the item's `error`, whatever definition and subject are
   * @throws the signal's reason when it is aborted; an Error when the engine is closed or no thread can be started
   */
  async run(
    definition: unknown,
    subject: ScoringSubject,
    signal?: AbortSignal,
    owner?: string,
  ): Promise<ScoreOutcome> {
    if (isJsonObject(definition) && definition.checks !== undefined) {
      return this.runChecks(definition, subject, signal, owner);
    }
    const parsed = parseCodeDefinition(definition);
    if ('problems' in parsed) return { error: describeProblems(parsed.problems) };
    if (!isScript(parsed.definition)) return this.runChecks(parsed.definition, subject, signal, owner);
    const { source, timeout_ms: timeoutMs, memory_mb: memoryMb } = parsed.definition;
    return this.sandbox.run({ source, timeoutMs, memoryMb }, subject, signal, owner);
  }

  /**
   * What is wrong with a definition that is to be stored: as `validateCodeDefinition`, and for a script also what is
   * wrong with its source, with the line. Nothing that the definition holds can hold up the caller.
   *
   * @throws as {@link run}
   */
  async validate(definition: unknown, signal?: AbortSignal, owner?: string): Promise<DefinitionProblem[]> {
    const text = encodeDefinition(definition);
    if (text === undefined) return [TOO_LARGE];
    const task = { kind: 'validate' as const, definition: text };
    const end = await this.pool.run(task, { timeoutMs: CHECKS_TIMEOUT_MS, owner: owner ?? text, signal });
    if ('ended' in end) return [{ pointer: '', detail: 'its patterns or schemas take too long to be read' }];
    if (end.answer.length > 0 || !isJsonObject(definition) || typeof definition.source !== 'string')
      return end.answer;
    const problem = await this.sandbox.checkJavaScript(definition.source, signal, owner);
    return problem === null ? [] : [{ pointer: '/source', detail: problem }];
  }

  private async runChecks(
    definition: unknown,
    subject: ScoringSubject,
    signal: AbortSignal | undefined,
    owner: string | undefined,
  ): Promise<ScoreOutcome> {
    const encoded = encodeSubject(subject);
    if ('error' in encoded) return encoded;
    const text = encodeDefinition(definition);
    if (text === undefined) return { error: describeProblems([TOO_LARGE]) };
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

const TOO_LARGE: DefinitionProblem = {
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
