import { createHash } from 'node:crypto';
import { cutText, MAX_ERROR_LENGTH } from '../../scorers';
import type { JudgeEndpoint } from '../calls/judge-endpoint';
import { type JudgeCall, JudgeFailure, type Judgement, type JudgeRequest } from '../judge-backend';
import { dataBlock, delimitersOf, type KeyedHash } from '../prompt/data-block';
import { BYTES_PER_TOKEN } from '../prompt/judge-prompt';
import { cutMiddle } from '../prompt/middle-cut';
import { type ReadAnswer, readAnswerText, UnreadableAnswer } from './judge-answer';
import { type ChatAnswer, readChatAnswer } from './chat-answer';
import type { ChatFeaturesRepository } from './chat-features.repository';
import {
  ALL_FEATURES,
  chatBody,
  type ChatFeatures,
  type ChatMessage,
  type ChatQuestion,
  withoutRefused,
} from './chat-request';
import { probabilitiesOf } from './token-probabilities';

/** Bytes of an unreadable answer that are shown to the judge again. */
const SHOWN_ANSWER_BYTES = 4_000;
/** Longest complaint about an unreadable answer, in bytes. */
export const COMPLAINT_BYTES = SHOWN_ANSWER_BYTES + 3 * MAX_ERROR_LENGTH + 1_000;
/** Characters of a judge's own words that an error quotes. */
const QUOTED_MAX = 300;

/** The price of tokens in US dollars. Null for a model with unknown prices. */
export type TokenPrices = (
  model: string,
  inputTokens: number | null,
  outputTokens: number | null,
) => number | null;

interface Means {
  endpoint: JudgeEndpoint;
  features: ChatFeaturesRepository;
  hash: KeyedHash;
  prices: TokenPrices;
}

/** A request that was answered. */
interface Sent {
  answer: ChatAnswer;
  /** The features that the server accepted. */
  features: ChatFeatures;
  sha256: string;
}

/** A request for a chat completion. Asks once more, naming the fault, when the answer is unreadable. */
export class LlmRequest implements JudgeRequest {
  readonly body: string;
  readonly sha256: string;
  readonly questionSha256: string;

  constructor(
    private readonly question: ChatQuestion,
    private readonly messages: readonly ChatMessage[],
    private readonly features: ChatFeatures,
    private readonly means: Means,
  ) {
    this.body = chatBody(question, messages, features);
    this.sha256 = sha256Of(this.body);
    this.questionSha256 = sha256Of(chatBody(question, messages, ALL_FEATURES));
  }

  async ask(call: JudgeCall): Promise<Judgement> {
    const bill = new Bill(this.question, this.means.prices, call);
    const first = await this.send(this.messages, this.features, bill, call);
    try {
      return this.judgement(first, bill);
    } catch (fault) {
      if (!(fault instanceof UnreadableAnswer)) throw fault;
      return this.askAgain(first, fault, bill, call);
    }
  }

  /** Tells the judge that its answer is unreadable. Reports the hash of the first request, which anybody can preview. */
  private async askAgain(
    first: Sent,
    fault: UnreadableAnswer,
    bill: Bill,
    call: JudgeCall,
  ): Promise<Judgement> {
    const { sha256 } = first;
    try {
      const again = [...this.messages, this.complaint(first.answer, fault)];
      const second = await this.send(again, first.features, bill, call);
      return this.judgement({ ...second, sha256 }, bill);
    } catch (error) {
      if (error instanceof JudgeFailure) throw new JudgeFailure(error.message, sha256);
      if (!(error instanceof UnreadableAnswer)) throw error;
      const message = `The judge's answer cannot be read, and neither can its second attempt: ${error.message}.`;
      throw new JudgeFailure(cutText(message, QUOTED_MAX * 2), sha256);
    }
  }

  /** Sends messages, dropping features that the server refuses, until it accepts them. */
  private async send(
    messages: readonly ChatMessage[],
    known: ChatFeatures,
    bill: Bill,
    call: JudgeCall,
  ): Promise<Sent> {
    const { model, isTemperatureAskedFor } = this.question;
    let isOfServer = true;
    for (let features = known; ;) {
      const body = chatBody(this.question, messages, features);
      const reply = await this.means.endpoint.post(model, body, call, (lost) => bill.lose(body, lost));
      if ('refusal' in reply) {
        const fewer = reply.isOfRequest
          ? withoutRefused(features, reply.refusal, isTemperatureAskedFor)
          : undefined;
        if (!fewer) throw new JudgeFailure(reply.error);
        features = fewer.features;
        isOfServer &&= fewer.isOfServer;
        continue;
      }
      if (features !== known && isOfServer) await this.means.features.learn(model, features);
      const answer = readChatAnswer(reply.value);
      if (!answer) {
        bill.lose(body, 'whole');
        throw new JudgeFailure('The judge did not answer with a chat completion.');
      }
      bill.add(answer, body);
      return { answer, features, sha256: sha256Of(body) };
    }
  }

  private judgement({ answer, sha256 }: Sent, bill: Bill): Judgement {
    const { refusal, finishReason, text, logprobs, model } = answer;
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
      ...(model !== undefined && { model: cutText(model, 255) }),
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
        `it was cut off, because it was longer than ${this.question.maxTokens} tokens`,
      );
    }
  }

  /** Makes the message about an unreadable answer. The answer may repeat the subject, so it is marked as data. */
  private complaint({ text }: ChatAnswer, { message }: UnreadableAnswer): ChatMessage {
    const shown = [cutMiddle(text, SHOWN_ANSWER_BYTES), message];
    const delimiters = delimitersOf(this.means.hash, shown);
    const [given, fault] = shown.map((one) => dataBlock(delimiters, one));
    return {
      role: 'user',
      content: `This is what you answered, as data:\n${given}\nIt cannot be read. Why, also as data:\n${fault}\nAnswer again, with nothing but the JSON object that you were asked for, and briefly.`,
    };
  }
}

/** Adds up the costs of the requests for one judgement, and charges each to the call as soon as it is known. */
class Bill {
  private sum: number | undefined;

  constructor(
    private readonly question: Pick<ChatQuestion, 'model' | 'maxTokens'>,
    private readonly prices: TokenPrices,
    private readonly call: Pick<JudgeCall, 'charge'>,
  ) {}

  /** In US dollars. Undefined while no cost is known. */
  get costUsd(): number | undefined {
    return this.sum;
  }

  /** Estimates tokens that the server does not report, because otherwise a budget would never be spent. */
  add({ costUsd, inputTokens, outputTokens, model, text }: ChatAnswer, body: string): void {
    const input = inputTokens ?? tokensOf(body);
    const output = outputTokens ?? tokensOf(text);
    this.charge(
      costUsd ??
        this.prices(this.question.model, input, output) ??
        (model === undefined ? null : this.prices(model, input, output)),
    );
  }

  /** Charges a lost answer: the tokens sent and, for a whole answer, the most tokens that it can have. */
  lose(body: string, lost: 'whole' | 'part'): void {
    const { model, maxTokens } = this.question;
    this.charge(this.prices(model, tokensOf(body), lost === 'whole' ? maxTokens : 0));
  }

  private charge(costUsd: number | null): void {
    if (costUsd === null) return;
    this.sum = (this.sum ?? 0) + costUsd;
    this.call.charge(costUsd);
  }
}

const tokensOf = (text: string): number => Math.ceil(Buffer.byteLength(text) / BYTES_PER_TOKEN);

const sha256Of = (text: string): string => createHash('sha256').update(text).digest('hex');
