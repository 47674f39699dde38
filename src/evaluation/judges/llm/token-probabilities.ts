import { isJsonObject } from '#platform/json';
import type { Output } from '../../scorers';

interface Alternative {
  /** UTF-8 bytes, each as one character. */
  text: string;
  probability: number;
}

interface Token extends Alternative {
  alternatives: Alternative[];
}

/** An answer as it appears in the JSON text, without the leading quotation mark. */
interface Answer {
  value: string;
  json: string;
}

/**
 * Returns the probability of each possible answer to a `choice` or `boolean`, from the log probabilities of a chat
 * completion (`choices[].logprobs.content`, each token with `top_logprobs`). Considers the tokens and alternatives from the
 * start of the answer up to the token that determines it. The probabilities add up to 1; alternatives that start no
 * possible answer are ignored.
 *
 * @returns undefined without usable tokens, such as tokens of another text
 */
export function probabilitiesOf(
  output: Output,
  text: string,
  logprobs: unknown,
): Record<string, number> | undefined {
  const answers = answersOf(output);
  const tokens = readTokens(logprobs);
  if (!answers || !tokens) return undefined;
  const fullText = tokens.map((token) => token.text).join('');
  const start = answerStart(output, fullText);
  if (start < 0 || !fullText.includes(bytes(text.trim()))) return undefined;
  const weights = weigh(answers, tokens, start);
  if (!weights) return undefined;
  const total = [...weights.values()].reduce((sum, weight) => sum + weight, 0);
  if (!(total > 0)) return undefined;
  return Object.fromEntries(answers.map(({ value }) => [value, (weights.get(value) ?? 0) / total]));
}

/** Returns the possible answers to an output; undefined for an output without a finite set of answers. */
function answersOf(output: Output): Answer[] | undefined {
  if (output.type === 'boolean') return ['true', 'false'].map((value) => ({ value, json: value }));
  if (output.type !== 'choice') return undefined;
  return output.choices.map(({ value }) => ({ value, json: bytes(JSON.stringify(value).slice(1)) }));
}

/**
 * Returns the position of the answer, or -1. Takes the last match, because reasoning comes first. Text quoted in a JSON
 * string does not match, because its quotation marks are escaped.
 */
function answerStart(output: Output, text: string): number {
  const match = [...text.matchAll(output.type === 'choice' ? /"choice"\s*:\s*"/g : /"value"\s*:\s*/g)].at(-1);
  return match ? match.index + match[0].length : -1;
}

/**
 * Follows the tokens of the answer and sums the probability of each possible answer.
 *
 * @returns undefined if the model wrote the answer differently, for example with an escape, because the alternatives alone
 *   would make the given answer the least likely
 */
function weigh(
  answers: readonly Answer[],
  tokens: readonly Token[],
  answerAt: number,
): Map<string, number> | undefined {
  const weights = new Map<string, number>();
  const add = (matching: readonly Answer[], weight: number): void => {
    for (const { value } of matching) {
      weights.set(value, (weights.get(value) ?? 0) + weight / matching.length);
    }
  };
  let index = 0;
  let tokenAt = 0;
  while (index < tokens.length && tokenAt + tokens[index]!.text.length <= answerAt) {
    tokenAt += tokens[index++]!.text.length;
  }
  let prefix = '';
  let probability = 1;
  // the first token may start before the answer
  for (let skip = answerAt - tokenAt; index < tokens.length; index++, skip = 0) {
    const token = tokens[index]!;
    const skipped = token.text.slice(0, skip);
    for (const other of token.alternatives) {
      if (other.text === token.text || !other.text.startsWith(skipped)) continue;
      add(matchingAnswers(answers, prefix + other.text.slice(skip)), probability * other.probability);
    }
    prefix += token.text.slice(skip);
    probability *= token.probability;
    const matching = matchingAnswers(answers, prefix);
    // no answer is a prefix of another, because of its closing quotation mark
    if (matching.length === 1) {
      add(matching, probability);
      return weights;
    }
  }
  return undefined;
}

/** Returns the answers that are a prefix of the text, or that the text is a prefix of. */
function matchingAnswers(answers: readonly Answer[], text: string): Answer[] {
  if (text === '') return [];
  return answers.filter(({ json }) => json.startsWith(text) || text.startsWith(json));
}

function readTokens(logprobs: unknown): Token[] | undefined {
  const content = isJsonObject(logprobs) ? logprobs.content : undefined;
  if (!Array.isArray(content) || content.length === 0) return undefined;
  const tokens: Token[] = [];
  for (const one of content as unknown[]) {
    const token = readToken(one);
    if (!token) return undefined;
    const top = (one as Record<string, unknown>).top_logprobs;
    const alternatives = Array.isArray(top) ? top.flatMap((other) => readToken(other) ?? []) : [];
    tokens.push({ ...token, alternatives });
  }
  return tokens;
}

function readToken(value: unknown): Alternative | undefined {
  if (!isJsonObject(value)) return undefined;
  const { token, logprob, bytes: codes } = value;
  if (typeof token !== 'string' || typeof logprob !== 'number' || !(logprob <= 1e-6)) return undefined;
  const isBytes = Array.isArray(codes) && codes.every((code) => Number.isInteger(code));
  return {
    text: isBytes ? Buffer.from(codes as number[]).toString('latin1') : bytes(token),
    probability: Math.exp(logprob),
  };
}

/** Returns the UTF-8 bytes of a text, each as one character. */
const bytes = (text: string): string => Buffer.from(text).toString('latin1');
