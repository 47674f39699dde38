import { type InternalAnswer, type Recorded, usageOfChat } from '../../model-gateway';
import {
  cutText,
  judgeBackendOf,
  type JudgeDefinition,
  MAX_ERROR_LENGTH,
  type ScoringSubject,
} from '../scorers';
import {
  type ChatAnswer,
  chatBody,
  type ChatMessage,
  type ChatQuestion,
  probabilitiesOf,
  readChatAnswer,
  withoutRefusedFeature,
} from './chat-completion';
import {
  answerSchema,
  instructionsOf,
  type ReadAnswer,
  readAnswerText,
  UnreadableAnswer,
} from './judge-answer';
import {
  type JudgeBackend,
  type JudgeCall,
  JudgeFailure,
  type Judgement,
  type JudgeRequest,
  type JudgeServer,
  PromptError,
  sha256Of,
} from './judge-backend';
import type { JudgeCaller, JudgeTarget } from './judge-caller';
import {
  BYTES_PER_TOKEN,
  cutMiddle,
  dataBlock,
  delimitersOf,
  judgePrompt,
  type KeyedHash,
} from './judge-prompt';
import { ALL_FEATURES, type ChatFeatures, type JudgeRepository } from './judge.repository';

/** Tokens that a server may add to messages by itself. */
const OVERHEAD_TOKENS = 200;
/** Bytes of an unreadable answer quoted to the judge. */
const QUOTED_ANSWER_BYTES = 4_000;
/** Longest message about an unreadable answer, in bytes. */
const CORRECTION_BYTES = QUOTED_ANSWER_BYTES + 3 * MAX_ERROR_LENGTH + 1_000;
/** Characters of a judge's words quoted in an error. */
const QUOTED_MAX = 300;

/** Returns the price of tokens in US dollars; null for a model without known prices. */
type TokenPrices = (model: string, inputTokens: number | null, outputTokens: number | null) => number | null;

/** The operator's settings for the judge's model, and what its requests need. */
export interface LlmSettings {
  /** Returns the model that a definition names, or the default. */
  modelOf: (definition: JudgeDefinition) => string;
  /** Tokens of a request and its answer together, at most. */
  contextTokens: number;
  /** Tokens of an answer, including the model's reasoning, at most. */
  maxTokens: number;
  target: JudgeTarget;
  caller: JudgeCaller;
  repository: JudgeRepository;
  /** For the delimiters of data. */
  hash: KeyedHash;
  prices: TokenPrices;
}

/** Calls a language model by chat completions (OpenAI's API, which most servers and gateways offer). */
export class LlmBackend implements JudgeBackend {
  constructor(private readonly settings: LlmSettings) {}

  isPriced(definition: JudgeDefinition): boolean {
    return this.settings.prices(this.settings.modelOf(definition), 1, 1) !== null;
  }

  async prepare(definition: JudgeDefinition, subject: ScoringSubject): Promise<JudgeRequest> {
    if (!definition.prompt)
      throw new PromptError(`A judge with the backend ${judgeBackendOf(definition)} needs a prompt.`);
    const samples = definition.samples ?? 1;
    const question: ChatQuestion = {
      model: this.settings.modelOf(definition),
      output: definition.output,
      withReasoning: definition.reasoning ?? true,
      // a single sample should be reproducible, and several samples should vary
      temperature: definition.temperature ?? (samples === 1 ? 0 : undefined),
      isTemperatureRequired: definition.temperature != null,
      maxTokens: this.settings.maxTokens,
    };
    const { pieces, isTruncated } = judgePrompt(definition.prompt, subject, this.promptBytes(question));
    const delimiters = delimitersOf(
      this.settings.hash,
      pieces.flatMap((piece) => ('data' in piece ? piece.data : [])),
    );
    const prompt = pieces
      .map((piece) => ('text' in piece ? piece.text : dataBlock(delimiters, piece.data)))
      .join('');
    const instructions = instructionsOf(question.output, question.withReasoning, delimiters);
    const messages = [
      { role: 'system', content: instructions },
      { role: 'user', content: prompt },
    ] as const;
    const features = await this.settings.repository.featuresOf(question.model);
    return new LlmRequest(this.settings, question, messages, features, { samples, isTruncated });
  }

  /** Returns the bytes left for a prompt besides the instructions, the schema and the answer. */
  private promptBytes({ output, withReasoning }: ChatQuestion): number {
    const { contextTokens, hash, maxTokens } = this.settings;
    const instructions = instructionsOf(output, withReasoning, delimitersOf(hash, []));
    const schema = JSON.stringify(answerSchema(output, withReasoning));
    const tokens = contextTokens - maxTokens - OVERHEAD_TOKENS;
    const reserved = Buffer.byteLength(instructions) + Buffer.byteLength(schema) + CORRECTION_BYTES;
    return tokens * BYTES_PER_TOKEN - reserved;
  }
}

/** A request with its answer. */
interface Exchange {
  answer: ChatAnswer;
  server: JudgeServer;
  /** The features that the server accepted. */
  features: ChatFeatures;
  sha256: string;
}

/** A request for a chat completion. If the answer is unreadable, asks the judge once to correct it. */
class LlmRequest implements JudgeRequest {
  readonly body: string;
  readonly sha256: string;
  readonly questionSha256: string;
  readonly samples: number;
  readonly isTruncated: boolean;

  constructor(
    private readonly settings: LlmSettings,
    private readonly question: ChatQuestion,
    private readonly messages: readonly ChatMessage[],
    private readonly features: ChatFeatures,
    { samples, isTruncated }: Pick<JudgeRequest, 'samples' | 'isTruncated'>,
  ) {
    this.samples = samples;
    this.isTruncated = isTruncated;
    this.body = chatBody(question, messages, features);
    this.sha256 = sha256Of(this.body);
    this.questionSha256 = sha256Of(
      `${settings.target.baseUrl}\n${chatBody(question, messages, ALL_FEATURES)}`,
    );
  }

  async ask(call: JudgeCall): Promise<Judgement> {
    const bill = new Bill(this.question, this.settings.prices, call);
    const first = await this.send(this.messages, this.features, bill);
    try {
      return this.judgement(first, bill);
    } catch (error) {
      if (!(error instanceof UnreadableAnswer)) throw error;
      return this.askForCorrection(first, error, bill);
    }
  }

  /** Asks for a readable answer. Reports the hash of the first request, because that is the one that a preview shows. */
  private async askForCorrection(first: Exchange, reason: UnreadableAnswer, bill: Bill): Promise<Judgement> {
    const { sha256 } = first;
    try {
      const messages = [...this.messages, this.correction(first.answer, reason)];
      const second = await this.send(messages, first.features, bill);
      return this.judgement({ ...second, sha256 }, bill);
    } catch (error) {
      if (error instanceof JudgeFailure) throw new JudgeFailure(error.message, sha256);
      if (!(error instanceof UnreadableAnswer)) throw error;
      const fault = cutText(error.message, QUOTED_MAX);
      throw new JudgeFailure(
        `The judge's answer is invalid: ${fault}. A second request did not help. Make the prompt clearer, or use another model.`,
        sha256,
      );
    }
  }

  /** Sends messages, and drops the features that the server refuses until it accepts the request. */
  private async send(
    messages: readonly ChatMessage[],
    knownFeatures: ChatFeatures,
    bill: Bill,
  ): Promise<Exchange> {
    const { caller, repository, target } = this.settings;
    const { model, isTemperatureRequired } = this.question;
    let isServerWide = true;
    for (let features = knownFeatures; ;) {
      const body = chatBody(this.question, messages, features);
      let reply: InternalAnswer;
      try {
        reply = await caller.ask(target, model, body, bill.call, (lost) => bill.addLost(lost));
      } catch (error) {
        const refusal = error instanceof JudgeFailure ? error.refusal : undefined;
        const fewer = refusal && withoutRefusedFeature(features, refusal, isTemperatureRequired);
        if (!fewer) throw error;
        features = fewer.features;
        isServerWide &&= fewer.isServerWide;
        continue;
      }
      if (features !== knownFeatures && isServerWide) await repository.learnFeatures(model, features);
      const { value, provider, upstreamModel, costUsd } = reply;
      const answer = readChatAnswer(value);
      if (!answer) {
        bill.add({ ...usageOfChat(value), costUsd: costUsd ?? undefined, text: JSON.stringify(value) }, body);
        throw new JudgeFailure('The judge did not return a chat completion.');
      }
      answer.model ??= upstreamModel;
      answer.costUsd = costUsd ?? answer.costUsd;
      bill.add(answer, body);
      const server: JudgeServer = { provider_kind: provider.kind, base_url: provider.base.href };
      return { answer, server, features, sha256: sha256Of(body) };
    }
  }

  private judgement({ answer, server, sha256 }: Exchange, bill: Bill): Judgement {
    const { refusal, finishReason, text, logprobs, model = this.question.model } = answer;
    if (refusal !== undefined || finishReason === 'content_filter') {
      const why = refusal === undefined ? 'its server filtered the answer' : cutText(refusal, QUOTED_MAX);
      throw new JudgeFailure(`The judge refused to answer: ${why}`, sha256);
    }
    const read = this.read(answer);
    const probabilities = probabilitiesOf(this.question.output, text, logprobs);
    const { costUsd } = bill;
    return {
      ...read,
      ...(probabilities && { probabilities }),
      model: cutText(model, 255),
      server,
      ...(costUsd !== undefined && { costUsd }),
      requestSha256: sha256,
    };
  }

  private read({ text, finishReason }: ChatAnswer): ReadAnswer {
    try {
      return readAnswerText(this.question.output, text);
    } catch (error) {
      if (!(error instanceof UnreadableAnswer) || finishReason !== 'length') throw error;
      throw new UnreadableAnswer(
        `it was cut off at the limit of ${this.question.maxTokens} tokens (JUDGE_MAX_TOKENS)`,
      );
    }
  }

  /** Returns the message about an unreadable answer. The answer may repeat the subject, so it is marked as data. */
  private correction({ text }: ChatAnswer, { message }: UnreadableAnswer): ChatMessage {
    const quoted = [cutMiddle(text, QUOTED_ANSWER_BYTES), message];
    const delimiters = delimitersOf(this.settings.hash, quoted);
    const [answer, reason] = quoted.map((one) => dataBlock(delimiters, one));
    return {
      role: 'user',
      content: `Your answer, as data:\n${answer}\nIt cannot be read. The reason, also as data:\n${reason}\nAnswer again, briefly, with only the JSON object that you were asked for.`,
    };
  }
}

type BilledAnswer = Pick<ChatAnswer, 'costUsd' | 'inputTokens' | 'outputTokens' | 'text'> &
  Partial<Pick<ChatAnswer, 'model'>>;

/** Sums the costs of the requests for one judgement. Charges each cost to the call as soon as it is known. */
class Bill {
  /** In US dollars. Undefined while no cost is known. */
  costUsd: number | undefined;

  constructor(
    private readonly question: ChatQuestion,
    private readonly prices: TokenPrices,
    readonly call: JudgeCall,
  ) {}

  /** Adds the cost of an answer. Estimates tokens that the server does not report, so that budgets still work. */
  add({ costUsd, inputTokens, outputTokens, model, text }: BilledAnswer, body: string): void {
    const input = inputTokens ?? tokensOf(body);
    const output = outputTokens ?? tokensOf(text);
    this.charge(
      costUsd ??
        this.prices(this.question.model, input, output) ??
        (model === undefined ? null : this.prices(model, input, output)),
    );
  }

  /** Adds the cost of a lost answer. */
  addLost({ usage, costUsd }: Recorded): void {
    const { inputTokens, outputTokens } = usage;
    this.charge(costUsd ?? this.prices(this.question.model, inputTokens, outputTokens));
  }

  private charge(costUsd: number | null): void {
    if (costUsd === null) return;
    this.costUsd = (this.costUsd ?? 0) + costUsd;
    this.call.charge(costUsd);
  }
}

const tokensOf = (text: string): number => Math.ceil(Buffer.byteLength(text) / BYTES_PER_TOKEN);
