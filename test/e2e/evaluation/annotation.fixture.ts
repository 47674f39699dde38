import { type Answer, type ApiClient, jsonExport, newSpan, newTraceId, type TestApp } from '#testing';
import type {
  AnnotationItemDto,
  ItemOutcomeDto,
  ClaimResponseDto,
} from '../../../src/evaluation/annotation-queues/annotation-item.dto';
import type { AnnotationQueueDto } from '../../../src/evaluation/annotation-queues/annotation-queue.dto';
import type { EvaluationWorkspace, Page, Wire } from './evaluation.harness';
import { type Annotator, BOOLEAN, HumanScoresFixture, type Scorer } from './human-scores.fixture';

type Fields = Record<string, unknown>;
export type Queue = Wire<AnnotationQueueDto>;
export type NextItem = Wire<ClaimResponseDto> & {
  item: Wire<NonNullable<ClaimResponseDto['item']>> | null;
};

export const QUEUES = '/eval/v1/annotation-queues';

/** A workspace with annotation queues. All calls use HTTP, except for `expireClaims`. */
export class AnnotationFixture {
  private names = 0;

  private constructor(
    readonly app: TestApp,
    readonly humanScores: HumanScoresFixture,
  ) {}

  static async open(app: TestApp): Promise<AnnotationFixture> {
    return new AnnotationFixture(app, await HumanScoresFixture.open(app));
  }

  get space(): EvaluationWorkspace {
    return this.humanScores.space;
  }

  get ann(): Annotator {
    return this.humanScores.ann;
  }

  annotator(): Promise<Annotator> {
    return this.humanScores.annotator();
  }

  scorer(output: object = BOOLEAN, fields: Fields = {}): Promise<Scorer> {
    return this.humanScores.scorer(output, fields);
  }

  /** Exports traces, each starting one second after the previous one. Returns their ids, oldest first. */
  async traces(count: number, attributes: Record<string, string> = {}): Promise<string[]> {
    const ids = Array.from({ length: count }, newTraceId);
    const from = BigInt(Date.now() - 3_600_000) * 1_000_000n;
    const spans = ids.map((traceId, index) =>
      newSpan({
        traceId,
        start: from + BigInt(index) * 1_000_000_000n,
        end: from + BigInt(index) * 1_000_000_000n + 5_000_000n,
        attributes: { 'input.value': `question ${index}`, 'output.value': `answer ${index}`, ...attributes },
      }),
    );
    const answer = await this.space.evaluator.post('/telemetry/v1/traces', jsonExport(spans));
    if (answer.status !== 200) throw new Error(JSON.stringify(answer.body));
    return ids;
  }

  /** Sends a request to create a queue, and returns the response. */
  create(fields: Fields, by: ApiClient = this.space.editor): Promise<Answer<Queue>> {
    return by.post<Queue>(QUEUES, {
      workspace_id: this.space.id,
      name: `queue ${++this.names}`,
      scores_per_item: 1,
      ...fields,
    });
  }

  async queue(scorer: Scorer, source: object, fields: Fields = {}): Promise<Queue> {
    const answer = await this.create({ scorer_ids: [scorer.scorer_id], source, ...fields });
    if (answer.status !== 201) throw new Error(JSON.stringify(answer.body));
    return answer.body;
  }

  async read(queue: Queue): Promise<Queue> {
    return (await this.space.viewer.get<Queue>(`${QUEUES}/${queue.queue_id}`)).body;
  }

  ask(queue: Queue, by: Annotator = this.ann, author?: string): Promise<Answer<NextItem>> {
    return by.api.post<NextItem>(`${QUEUES}/${queue.queue_id}/next`, author === undefined ? {} : { author });
  }

  async next(queue: Queue, by: Annotator = this.ann, author?: string): Promise<NextItem> {
    const answer = await this.ask(queue, by, author);
    if (answer.status !== 200) throw new Error(JSON.stringify(answer.body));
    return answer.body;
  }

  /** Claims the next item, and returns its id. Throws if there is none. */
  async claim(queue: Queue, by: Annotator = this.ann, author?: string): Promise<string> {
    const { item } = await this.next(queue, by, author);
    if (!item) throw new Error('the queue has no item for this annotator');
    return item.item_id;
  }

  /** Scores an item by the first scorer of the queue. */
  score(
    queue: Queue,
    itemId: string,
    value: Fields = { score: true },
    by: Annotator = this.ann,
    author?: string,
  ): Promise<Answer<ItemOutcomeDto>> {
    return by.api.post<ItemOutcomeDto>(`${QUEUES}/${queue.queue_id}/items/${itemId}/scores`, {
      scores: [{ scorer_id: queue.scorer_ids[0], ...value }],
      ...(author !== undefined && { author }),
    });
  }

  skip(
    queue: Queue,
    itemId: string,
    by: Annotator = this.ann,
    reason = 'not my field',
  ): Promise<Answer<ItemOutcomeDto>> {
    return by.api.post<ItemOutcomeDto>(`${QUEUES}/${queue.queue_id}/items/${itemId}/skip`, { reason });
  }

  async items(queue: Queue, query = ''): Promise<Wire<AnnotationItemDto>[]> {
    const path = `${QUEUES}/${queue.queue_id}/items?${query}`;
    const answer = await this.space.viewer.get<Page<Wire<AnnotationItemDto>>>(path);
    if (answer.status !== 200) throw new Error(JSON.stringify(answer.body));
    return answer.body.items;
  }

  /** Makes every claim in a queue expire. */
  async expireClaims(queue: Queue): Promise<void> {
    await this.app.database.query(
      `UPDATE annotation_places SET claimed_until = now() - interval '1 second'
       WHERE queue_id = $1 AND NOT is_scored AND claimed_until IS NOT NULL`,
      [queue.queue_id],
    );
  }
}
