import { isJsonObject, toJsonText } from '#platform/json';
import type { JudgeDefinition, Output, ScoringSubject } from '../scorers';
import {
  type JudgeBackend,
  JudgeFailure,
  type Judgement,
  type JudgeRequest,
  PromptError,
  sha256Of,
} from './judge-backend';
import type { JudgeCaller, JudgeTarget } from './judge-caller';
import { BYTES_PER_TOKEN, judgePrompt } from './judge-prompt';

type Choices = Extract<Output, { type: 'choice' }>['choices'];

/** The default prompt. */
const OUTPUT_ONLY = '{{output}}';

/** Tolerance within which probabilities count as adding up to 1. */
const SUM_TOLERANCE = 1e-3;

/**
 * Calls a zero-shot classification server with `{"inputs", "labels"}`, and `"model"` if the definition names one. The
 * server returns `[{"label", "score"}]`. The input is the expanded prompt or, without a prompt, the output. It needs no
 * delimiters, because a classifier follows no instructions. A classifier is deterministic, so `samples` is ignored. It costs
 * nothing.
 */
export class ClassifierBackend implements JudgeBackend {
  constructor(
    private readonly caller: JudgeCaller,
    private readonly target: JudgeTarget,
    private readonly contextTokens: number,
  ) {}

  isPriced(): boolean {
    return true;
  }

  prepare({ output, prompt, model }: JudgeDefinition, subject: ScoringSubject): Promise<JudgeRequest> {
    if (output.type !== 'choice') throw new PromptError('A classifier needs an output of type choice.');
    const { choices } = output;
    const { pieces, isTruncated } = judgePrompt(
      prompt ?? OUTPUT_ONLY,
      subject,
      this.contextTokens * BYTES_PER_TOKEN,
    );
    const inputs = pieces.map((piece) => ('text' in piece ? piece.text : piece.data)).join('');
    const labels = choices.map(({ value }) => value);
    const body = JSON.stringify({ inputs, labels, ...(model && { model }) });
    const sha256 = sha256Of(body);
    return Promise.resolve({
      body,
      sha256,
      isTruncated,
      questionSha256: sha256Of(`${this.target.baseUrl}\n${body}`),
      samples: 1,
      ask: async (call) => {
        call.charge(0);
        const { value, provider } = await this.caller.ask(this.target, model ?? '', body, call);
        const named = model == null ? {} : { model };
        return {
          ...judged(value, choices),
          ...named,
          server: { provider_kind: 'classifier', base_url: provider.base.href },
          costUsd: 0,
          requestSha256: sha256,
        };
      },
    });
  }
}

/** Returns the most likely choice, with the weighted mean of the scores of all choices. */
function judged(value: unknown, choices: Choices): Pick<Judgement, 'choice' | 'score' | 'probabilities'> {
  const probabilities = readProbabilities(value, choices);
  const mostLikely = choices.reduce((best, one) =>
    probabilities.get(one.value)! > probabilities.get(best.value)! ? one : best,
  );
  const score = choices.reduce((sum, one) => sum + probabilities.get(one.value)! * one.score, 0);
  // the products may overflow if choices have very large scores
  if (!Number.isFinite(score))
    throw new JudgeFailure('The scores of the choices are too large to compute their weighted mean.');
  return { choice: mostLikely.value, score, probabilities: Object.fromEntries(probabilities) };
}

/** Reads `[{"label", "score"}]`, or a list that contains it. A choice that is missing has the probability 0. */
function readProbabilities(value: unknown, choices: Choices): Map<string, number> {
  const items: unknown = Array.isArray(value) && Array.isArray(value[0]) ? value[0] : value;
  if (!Array.isArray(items)) throw unreadable('it is not a list of labels and scores');
  const probabilities = new Map(choices.map((choice) => [choice.value, 0]));
  for (const one of items as unknown[]) {
    const { label, score } = isJsonObject(one) ? one : {};
    if (typeof label !== 'string' || typeof score !== 'number' || !(score >= 0 && score <= 1)) {
      throw unreadable('an item is not a label with a score from 0 to 1');
    }
    if (!probabilities.has(label))
      throw unreadable(`${toJsonText(label.slice(0, 100))} is not one of the choices`);
    probabilities.set(label, score);
  }
  const sum = [...probabilities.values()].reduce((total, score) => total + score, 0);
  if (!(sum > 0)) throw unreadable('it assigns no probability to any choice');
  if (Math.abs(sum - 1) > SUM_TOLERANCE) {
    for (const [label, score] of probabilities) probabilities.set(label, score / sum);
  }
  return probabilities;
}

const unreadable = (why: string): JudgeFailure =>
  new JudgeFailure(`The classifier's answer is invalid: ${why}.`);
