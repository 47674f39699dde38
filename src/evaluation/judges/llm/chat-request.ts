import type { Output } from '../../scorers';
import type { Refusal } from '../calls/judge-endpoint';
import { answerSchema } from './judge-answer';

/** One message of a chat completion. */
export interface ChatMessage {
  role: 'system' | 'user';
  content: string;
}

/**
 * The features that a server of chat completions supports. They are learned from its refusals, because servers do not list
 * them.
 */
export interface ChatFeatures {
  /** How the server enforces JSON. */
  responseFormat: 'json_schema' | 'json_object' | 'none';
  /** Returns the log probabilities of tokens. */
  logprobs: boolean;
  /** The parameter that limits the length of an answer. */
  maxTokens: 'max_tokens' | 'max_completion_tokens';
  /** Accepts a temperature other than its default. */
  temperature: boolean;
}

/** The features that are tried first with a server. */
export const ALL_FEATURES: ChatFeatures = {
  responseFormat: 'json_schema',
  logprobs: true,
  maxTokens: 'max_tokens',
  temperature: true,
};

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
  const { output } = question;
  const hasProbabilities = output.type === 'choice' || output.type === 'boolean';
  return JSON.stringify({
    ...(question.model && { model: question.model }),
    messages,
    ...(features.temperature && question.temperature !== undefined && { temperature: question.temperature }),
    [features.maxTokens]: question.maxTokens,
    ...responseFormat(question, features.responseFormat),
    ...(features.logprobs && hasProbabilities && { logprobs: true, top_logprobs: TOP_LOGPROBS }),
  });
}

function responseFormat(
  { output, withReasoning }: ChatQuestion,
  format: ChatFeatures['responseFormat'],
): { response_format?: object } {
  if (format === 'none') return {};
  if (format === 'json_object') return { response_format: { type: 'json_object' } };
  const schema = answerSchema(output, withReasoning);
  return {
    response_format: { type: 'json_schema', json_schema: { name: 'judgement', strict: true, schema } },
  };
}

/** Matches messages of servers that lack a feature, as opposed to messages about a wrong use of a feature. */
const NOT_SUPPORTED =
  /unsupported|(?:not|n't) (?:supported|allowed|permitted|available|accepted)|unrecognized|unknown|unexpected|extra (?:inputs|fields)|use 'max_completion_tokens'/i;
const USED_WRONGLY =
  /invalid schema|schema (?:is )?(?:invalid|too)|enum|must be (?:between|less|greater|at)/i;

/** The features that a refusal may mention, and how to drop each. */
const DROPPABLE: { pattern: RegExp; drop: (features: ChatFeatures) => ChatFeatures | undefined }[] = [
  {
    pattern: /max_tokens|max_completion_tokens/,
    drop: (features) =>
      features.maxTokens === 'max_tokens' ? { ...features, maxTokens: 'max_completion_tokens' } : undefined,
  },
  {
    pattern: /logprob/i,
    drop: (features) => (features.logprobs ? { ...features, logprobs: false } : undefined),
  },
  {
    pattern: /response_format|json_schema|structured.output|guided|grammar/i,
    drop: (features) => {
      if (features.responseFormat === 'none') return undefined;
      return {
        ...features,
        responseFormat: features.responseFormat === 'json_schema' ? 'json_object' : 'none',
      };
    },
  },
  {
    pattern: /temperature/,
    drop: (features) => (features.temperature ? { ...features, temperature: false } : undefined),
  },
];

/**
 * Returns the features to retry a refused request with, or undefined if the refusal mentions no feature that can be
 * dropped. Never drops a temperature that the scorer's definition requires.
 *
 * `isServerWide`: the server lacks the feature for all requests. Otherwise the refusal may concern this scorer alone, for
 * example because its schema is too large.
 */
export function withoutRefusedFeature(
  features: ChatFeatures,
  { message, parameter, code }: Refusal,
  isTemperatureRequired: boolean,
): { features: ChatFeatures; isServerWide: boolean } | undefined {
  const subject = parameter || message;
  const isServerWide = NOT_SUPPORTED.test(`${code} ${message}`) && !USED_WRONGLY.test(message);
  for (const { pattern, drop } of DROPPABLE) {
    const fewer = pattern.test(subject) ? drop(features) : undefined;
    if (!fewer) continue;
    if (isTemperatureRequired && fewer.temperature !== features.temperature) return undefined;
    return { features: fewer, isServerWide };
  }
  return undefined;
}
