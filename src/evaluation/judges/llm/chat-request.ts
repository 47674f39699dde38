import type { Output } from '../../scorers';
import type { Refusal } from '../calls/judge-endpoint';
import { answerSchema } from './judge-answer';

/** One message of a chat completion. */
export interface ChatMessage {
  role: 'system' | 'user';
  content: string;
}

/**
 * The features that a server of chat completions supports. They are learned from its refusals, because no server lists
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

/** The features that are tried first with an unknown server. */
export const ALL_FEATURES: ChatFeatures = {
  responseFormat: 'json_schema',
  logprobs: true,
  maxTokens: 'max_tokens',
  temperature: true,
};

/** Alternatives per token: as many as the protocol allows. */
const TOP_LOGPROBS = 20;

/** The content of a request to a chat model, independent of the server's features. */
export interface ChatQuestion {
  model: string;
  output: Output;
  withReasoning: boolean;
  /** Undefined for the server's default. */
  temperature: number | undefined;
  /** Whether the scorer asks for this temperature. */
  isTemperatureAskedFor: boolean;
  maxTokens: number;
}

/** Returns the JSON body of a request for a chat completion (OpenAI's `POST /chat/completions`). */
export function chatBody(
  question: ChatQuestion,
  messages: readonly ChatMessage[],
  features: ChatFeatures,
): string {
  const { output } = question;
  const isChoosing = output.type === 'choice' || output.type === 'boolean';
  return JSON.stringify({
    model: question.model,
    messages,
    ...(features.temperature && question.temperature !== undefined && { temperature: question.temperature }),
    [features.maxTokens]: question.maxTokens,
    ...responseFormat(question, features.responseFormat),
    ...(features.logprobs && isChoosing && { logprobs: true, top_logprobs: TOP_LOGPROBS }),
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

/** Words by which a server says that it lacks a feature, rather than that the feature is used wrongly. */
const NOT_SUPPORTED =
  /unsupported|(?:not|n't) (?:supported|allowed|permitted|available|accepted)|unrecognized|unknown|unexpected|extra (?:inputs|fields)|use 'max_completion_tokens'/i;
const WRONGLY_USED =
  /invalid schema|schema (?:is )?(?:invalid|too)|enum|must be (?:between|less|greater|at)/i;

/** What a refusal may name, and how to do without it. */
const ASPECTS: { names: RegExp; without: (features: ChatFeatures) => ChatFeatures | undefined }[] = [
  {
    names: /max_tokens|max_completion_tokens/,
    without: (features) =>
      features.maxTokens === 'max_tokens' ? { ...features, maxTokens: 'max_completion_tokens' } : undefined,
  },
  {
    names: /logprob/i,
    without: (features) => (features.logprobs ? { ...features, logprobs: false } : undefined),
  },
  {
    names: /response_format|json_schema|structured.output|guided|grammar/i,
    without: (features) => {
      if (features.responseFormat === 'none') return undefined;
      return {
        ...features,
        responseFormat: features.responseFormat === 'json_schema' ? 'json_object' : 'none',
      };
    },
  },
  {
    names: /temperature/,
    without: (features) => (features.temperature ? { ...features, temperature: false } : undefined),
  },
];

/**
 * Returns the features to retry a refused request with. Undefined where the refusal names nothing that could be left out.
 * Never drops a temperature that the scorer asks for.
 *
 * `isOfServer`: the server lacks the feature for everybody. Otherwise the refusal may concern this scorer alone, for
 * example a schema that is too large.
 */
export function withoutRefused(
  features: ChatFeatures,
  { message, parameter, code }: Refusal,
  isTemperatureAskedFor: boolean,
): { features: ChatFeatures; isOfServer: boolean } | undefined {
  const named = parameter || message;
  const isOfServer = NOT_SUPPORTED.test(`${code} ${message}`) && !WRONGLY_USED.test(message);
  for (const { names, without } of ASPECTS) {
    const fewer = names.test(named) ? without(features) : undefined;
    if (!fewer) continue;
    if (isTemperatureAskedFor && fewer.temperature !== features.temperature) return undefined;
    return { features: fewer, isOfServer };
  }
  return undefined;
}
