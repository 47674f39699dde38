import { isJsonObject } from '#platform/json';
import {
  contentTextOf,
  firstChoiceOf,
  nameOf,
  objectOf,
  type ReportedError,
  usageOfChat,
} from '../../model-gateway';
import type { Output } from '../scorers';
import { answerSchema } from './judge-answer';
import type { ChatFeatures } from './judge.repository';

/** One message of a chat completion. */
export interface ChatMessage {
  role: 'system' | 'user';
  content: string;
}

/** Alternatives requested per token: the maximum that the API allows. */
const TOP_LOGPROBS = 20;

/** The content of a request for a chat completion, independent of the server's features. */
export interface ChatQuestion {
  /** Empty in a preview if neither the scorer nor the operator names a model. */
  model: string;
  output: Output;
  withReasoning: boolean;
  /** Undefined for the server's default. */
  temperature: number | undefined;
  /** Whether the scorer's definition requires this temperature. */
  isTemperatureRequired: boolean;
  maxTokens: number;
}

/** Returns the JSON body of a request for a chat completion (OpenAI's `POST /chat/completions`). */
export function chatBody(
  question: ChatQuestion,
  messages: readonly ChatMessage[],
  features: ChatFeatures,
): string {
  const { output, withReasoning } = question;
  const { responseFormat: type } = features;
  const json_schema = { name: 'judgement', strict: true, schema: answerSchema(output, withReasoning) };
  const hasProbabilities = output.type === 'choice' || output.type === 'boolean';
  return JSON.stringify({
    ...(question.model && { model: question.model }),
    messages,
    ...(features.temperature && question.temperature !== undefined && { temperature: question.temperature }),
    [features.maxTokens]: question.maxTokens,
    ...(type === 'json_object' && { response_format: { type } }),
    ...(type === 'json_schema' && { response_format: { type, json_schema } }),
    ...(features.logprobs && hasProbabilities && { logprobs: true, top_logprobs: TOP_LOGPROBS }),
  });
}

/** Matches messages of servers that lack a feature, as opposed to messages about a wrong use of a feature. */
const NOT_SUPPORTED =
  /unsupported|(?:not|n't) (?:supported|allowed|permitted|available|accepted)|unrecognized|unknown|unexpected|extra (?:inputs|fields)|use 'max_completion_tokens'/i;
const USED_WRONGLY =
  /invalid schema|schema (?:is )?(?:invalid|too)|enum|must be (?:between|less|greater|at)/i;

/** What mentions a feature in a refusal, and the values to try for it, the best first. */
const FEATURES = [
  {
    name: 'maxTokens',
    pattern: /max_tokens|max_completion_tokens/,
    values: ['max_tokens', 'max_completion_tokens'],
  },
  { name: 'logprobs', pattern: /logprob/i, values: [true, false] },
  {
    name: 'responseFormat',
    pattern: /response_format|json_schema|structured.output|guided|grammar/i,
    values: ['json_schema', 'json_object', 'none'],
  },
  { name: 'temperature', pattern: /temperature/, values: [true, false] },
] as const;

/**
 * Returns the features to retry a refused request with, or undefined if the refusal mentions no feature that can be
 * dropped. Never drops a temperature that the scorer's definition requires.
 *
 * `isServerWide`: the server lacks the feature for all requests. Otherwise the refusal may concern this scorer alone, for
 * example because its schema is too large.
 */
export function withoutRefusedFeature(
  features: ChatFeatures,
  { message, parameter, code }: Omit<ReportedError, 'type'>,
  isTemperatureRequired: boolean,
): { features: ChatFeatures; isServerWide: boolean } | undefined {
  const subject = parameter || message;
  const isServerWide = NOT_SUPPORTED.test(`${code} ${message}`) && !USED_WRONGLY.test(message);
  for (const { name, pattern, values } of FEATURES) {
    const next = values[values.indexOf(features[name] as never) + 1];
    if (next === undefined || !pattern.test(subject)) continue;
    if (name === 'temperature' && isTemperatureRequired) return undefined;
    return { features: { ...features, [name]: next }, isServerWide };
  }
  return undefined;
}

/** The members of a chat completion that are used. */
export interface ChatAnswer {
  text: string;
  /** Why the model stopped: `stop`, `length`, `content_filter` … */
  finishReason: string | undefined;
  /** The model's reason for not answering. */
  refusal: string | undefined;
  logprobs: unknown;
  model: string | undefined;
  inputTokens: number | null;
  outputTokens: number | null;
  /** In US dollars. Only gateways report it. */
  costUsd: number | undefined;
}

/** Larger costs are ignored. */
const COST_MAX = 1e6;

/** Reads a chat completion. Returns undefined for anything else. */
export function readChatAnswer(value: unknown): ChatAnswer | undefined {
  const answer = objectOf(value);
  const { message, finish_reason, logprobs } = firstChoiceOf(answer);
  if (!isJsonObject(message)) return undefined;
  const { inputTokens, outputTokens } = usageOfChat(answer);
  const { cost } = objectOf(answer.usage);
  return {
    text: contentTextOf(message.content) ?? '',
    finishReason: nameOf(finish_reason),
    refusal: nameOf(message.refusal),
    logprobs,
    model: nameOf(answer.model),
    inputTokens,
    outputTokens,
    costUsd: typeof cost === 'number' && cost >= 0 && cost <= COST_MAX ? cost : undefined,
  };
}

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
