import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { type Answer, type ApiClient, committedDocument, newSpan, type TestApp } from '#testing';
import { RawExporter } from '../telemetry/otlp.harness';
import { EvaluationWorkspace, type Experiment } from './evaluation.harness';
import { bodiesOf, optionsOf } from './generated-media';
import { generatedJson, GeneratedValues, type Known, type Schema, type Schemas } from './generated-values';

/** Number of bodies in a round. */
const BODIES = 50;
/** Minimum number of successes and of rejections per operation. With fewer, only the first checks would be tested. */
const OUTCOMES_MIN = 4;
/** Maximum number of rounds. An operation that has not reached both minimums by then never will. */
const ROUNDS_MAX = 60;
/** Maximum number of requests in flight. */
const AT_ONCE = 8;

interface MediaType {
  schema?: Schema;
  examples?: Record<string, { value: unknown }>;
}

interface Parameter {
  name: string;
  in: string;
  schema?: Schema;
}

interface DocumentedOperation {
  operationId: string;
  parameters?: Parameter[];
  requestBody?: { content: Record<string, MediaType> };
}

export interface Document {
  paths: Record<string, Record<string, DocumentedOperation>>;
  components: { schemas: Schemas };
}

export interface BodyOperation {
  operationId: string;
  method: string;
  path: string;
  content: Record<string, MediaType>;
  /** Parameters of the query: the options of bodies that are not JSON. */
  options: Parameter[];
}

/** Returns the operations of evaluation that have a body. */
export const bodyOperations = ({ paths }: Document): BodyOperation[] =>
  Object.entries(paths)
    .filter(([path]) => path.startsWith('/eval/v1/'))
    .flatMap(([path, methods]) =>
      Object.entries(methods).flatMap(([method, { operationId, parameters = [], requestBody }]) =>
        requestBody
          ? [
              {
                operationId,
                method: method.toUpperCase(),
                path,
                content: requestBody.content,
                options: parameters.filter((one) => one.in === 'query'),
              },
            ]
          : [],
      ),
    );

/** A body, its media type and the query of its request. */
interface Generated {
  media: string;
  body: unknown;
  query: string;
}

/** Ids for paths, by the names of their parameters. */
type Objects = Record<string, string>;

/** Sends generated bodies to operations: some are valid, and some are damaged. */
export class GeneratedBodies {
  private constructor(
    readonly app: TestApp,
    private readonly space: EvaluationWorkspace,
    /** A service account with the role admin, which may name any author. */
    private readonly annotator: ApiClient,
    private readonly document: Document,
  ) {}

  static async open(app: TestApp): Promise<GeneratedBodies> {
    const space = await EvaluationWorkspace.open(app);
    const { key } = await space.organization.serviceAccount('admin');
    return new GeneratedBodies(app, space, app.api(key).in(space.id), committedDocument<Document>());
  }

  /**
   * Sends bodies until some of each media type have succeeded and some were rejected. Each response must be documented and
   * below 500, and created objects must read back unchanged.
   */
  async drive(operation: BodyOperation): Promise<void> {
    const objects = await this.objects();
    // a scorer can have only a few rules, so only operations on a rule get one
    if (operation.path.includes('{rule_id}')) objects.rule_id = await this.rule(objects.scorer_id!);
    const seed = fc.readConfigureGlobal().seed ?? Date.now();
    const generator = this.bodiesOf(operation, objects, await this.wholesOf(operation, objects));
    const outcomes = { succeeded: 0, refused: 0 };
    const missing = new Set(Object.keys(operation.content));
    const isCovered = () =>
      missing.size === 0 && Math.min(outcomes.succeeded, outcomes.refused) >= OUTCOMES_MIN;
    for (let round = 0; round < ROUNDS_MAX && !isCovered(); round++) {
      const bodies = fc.sample(generator, { numRuns: BODIES, seed: seed + round }).entries();
      const sender = async (): Promise<void> => {
        for (const [index, generated] of bodies) {
          try {
            const answer = await this.send(operation, objects, generated);
            if (answer.status >= 400) outcomes.refused += 1;
            else outcomes.succeeded += 1;
            if (answer.status < 300) missing.delete(generated.media);
            check(answer);
            // every tenth, because reading back takes as long as everything else
            if (index % 10 === 0) await this.readBack(answer);
            if (hasFinalized(answer)) objects.experiment_id = (await this.space.experiment()).experiment_id;
            if (isScoredItem(answer))
              Object.assign(objects, await this.queue(objects.human_scorer_id!, objects.trace_id!));
          } catch (error) {
            const body = JSON.stringify(generated.body)?.slice(0, 2_000);
            throw new Error(`${operation.operationId}, seed ${seed + round}, ${generated.media}: ${body}`, {
              cause: error,
            });
          }
        }
      };
      await Promise.all(Array.from({ length: AT_ONCE }, sender));
    }
    expect([...missing]).toEqual([]);
    expect(outcomes.succeeded).toBeGreaterThanOrEqual(OUTCOMES_MIN);
    expect(outcomes.refused).toBeGreaterThanOrEqual(OUTCOMES_MIN);
  }

  private async send(
    operation: BodyOperation,
    objects: Objects,
    { media, body, query }: Generated,
  ): Promise<Answer> {
    const path = operation.path.replace(/\{(\w+)\}/g, (_, name: string) => {
      const id = objects[name];
      if (id === undefined)
        throw new Error(`There is no ${name} for paths: add one to the objects of this test.`);
      return id;
    });
    // a form names its own media type, with the boundary of its parts
    const headers: Record<string, string> = body instanceof FormData ? {} : { 'content-type': media };
    const isJson = /\/json$|\+json$/.test(media) && typeof body === 'object';
    const sent = isJson ? generatedJson(body) : body;
    const client = operation.operationId === 'scoreAnnotationItem' ? this.annotator : this.space.evaluator;
    return client.request(operation.method, path + query, { body: sent, headers });
  }

  private async readBack(answer: Answer): Promise<void> {
    const location = answer.headers.get('location');
    if (answer.status !== 201 || location === null) return;
    const read = await this.space.viewer.get(location);
    expect([read.status, { ...read.body, ...LATER }]).toEqual([200, { ...answer.body, ...LATER }]);
  }

  /** Creates one object of each kind, as the targets of one operation. */
  private async objects(): Promise<Objects> {
    const { space } = this;
    const { dataset_id } = await space.dataset();
    const { dataset_record_id } = await space.record(dataset_id, { input: { q: 'ä, "b"' }, tags: ['t'] });
    const content = 'id,q\nv1,a\nv2,b\n';
    expect((await space.post(`/eval/v1/datasets/${dataset_id}/versions`, { content })).status).toBe(201);
    const { experiment_id } = await space.experiment();
    const baseline = await space.experiment();
    for (const one of [experiment_id, baseline.experiment_id]) {
      await space.result(one, { case_id: 'shared', scores: { s: 1 } });
    }
    const span = newSpan({ attributes: { 'session.id': 'session' } });
    const exporter = new RawExporter(this.app.url, await space.organization.token('runtime'), space.id);
    await exporter.protobuf([span]);
    const { result_id } = await space.result(experiment_id, { trace_id: span.traceId });
    const human = { rubric: 'Kind?', output: { type: 'boolean' } };
    const scorer_id = await this.scorer(`code ${span.traceId}`, 'code', DEFINITION);
    const human_scorer_id = await this.scorer(`human ${span.traceId}`, 'human', human);
    const { queue_id, item_id } = await this.queue(human_scorer_id, span.traceId);
    return {
      ...{
        dataset_id,
        dataset_record_id,
        experiment_id,
        result_id,
        scorer_id,
        human_scorer_id,
        queue_id,
        item_id,
      },
      baseline_experiment_id: baseline.experiment_id,
      trace_id: span.traceId,
      version: '1',
    };
  }

  private async scorer(name: string, scorer_kind: string, definition: object): Promise<string> {
    const fields = { name, scorer_kind, definition };
    return (await this.space.post<{ scorer_id: string }>('/eval/v1/scorers', fields)).body.scorer_id;
  }

  /** Creates an annotation queue with one item, for ten people. */
  private async queue(scorerId: string, traceId: string): Promise<{ queue_id: string; item_id: string }> {
    const path = '/eval/v1/annotation-queues';
    const fields = {
      name: `queue ${randomUUID()}`,
      scorer_ids: [scorerId],
      source: { trace_ids: [traceId] },
    };
    const made = await this.space.post<{ queue_id: string }>(path, { ...fields, scores_per_item: 10 });
    const { queue_id } = made.body;
    const [item] = await this.space.list<{ item_id: string }>(`${path}/${queue_id}/items`);
    return { queue_id, item_id: item!.item_id };
  }

  private async rule(scorerId: string): Promise<string> {
    const rule = await this.space.evaluator.post<{ rule_id: string }>(`/eval/v1/scorers/${scorerId}/rules`, {
      workspace_id: this.space.id,
    });
    return rule.body.rule_id;
  }

  /** Returns well-formed texts for an operation, by media type. An import gets the output of an export. */
  private async wholesOf({ path }: BodyOperation, objects: Objects): Promise<Record<string, string[]>> {
    if (!path.endsWith('/records/import')) return {};
    const exported = async (format: string): Promise<string> => {
      const from = `/eval/v1/datasets/${objects.dataset_id}/records/export?format=${format}`;
      return (await this.space.viewer.get<string>(from)).body;
    };
    const lines = await exported('jsonl');
    return {
      'application/jsonl': [lines],
      'application/x-ndjson': [lines],
      'text/csv': [await exported('csv'), 'Input,label,tags,metadata,,id\n1,l,"[""t""]",{},x,c1\n'],
    };
  }

  private bodiesOf(
    { operationId, content, options }: BodyOperation,
    objects: Objects,
    wholes: Record<string, string[]>,
  ): fc.Arbitrary<Generated> {
    const knownValues = { ...this.knownOf(objects), ...KNOWN_OF[operationId]?.(objects) };
    const values = new GeneratedValues(this.document.components.schemas, knownValues);
    const inQuery = optionsOf(
      Object.fromEntries(options.map(({ name, schema = {} }) => [name, schema])),
      values,
    ).map((chosen) => `?${new URLSearchParams(chosen).toString()}`);
    return fc.oneof(
      ...Object.entries(content).map(([media, { schema = {}, examples = {} }]) => {
        const isText = !/\/json$|\+json$|^multipart/.test(media);
        const query = isText ? inQuery : fc.constant('');
        return fc.record({
          media: fc.constant(media),
          body: bodiesOf(media, values, schema, examples, wholes[media]),
          query,
        });
      }),
    );
  }

  private knownOf({ version: _version, ...ids }: Objects): Known {
    const { space } = this;
    const singular = Object.entries(ids).map(([name, id]) => [
      name,
      [id, id, id, `${id.slice(0, -1)}x`, null],
    ]);
    const plural = Object.entries(ids).map(([name, id]) => [`${name}s`, [[id], [id], [], [id, id]]]);
    return {
      ...Object.fromEntries([...singular, ...plural] as [string, unknown[]][]),
      workspace_id: [space.id, space.id, space.id, space.id, 'wsp_x'],
      reference_scorer_id: [ids.scorer_id, null],
      dataset_version: [1, 1, null, 2],
      // most names are new
      name: Array.from({ length: 300 }, (_, n) => `name ${n}`),
      session_id: ['session', ''],
      session_ids: [['session'], []],
      definition: [DEFINITION, { ...DEFINITION, source: 'no program' }, { checks: [] }],
      input_schema: [null, {}, { type: 'object' }, { type: 'x' }, { $ref: '#/x' }],
      external_id: ['a', 'b', 'c'],
      content: ['a,b\n1,2\n', 'id,a\nx,1\n', 'case_id\nc\n', 'a\n"', ''],
      case_id_column: [null, 'id'],
      mapping: [null, {}, { input: ['q'] }, { expected: 'q' }, { inputs: ['a'] }],
      scorer: ['s', 't'],
      scorers: [[ids.scorer_id], [ids.scorer_id], ['no such scorer'], []],
      scores: [
        { s: 1, t: null, u: true },
        {
          s: {
            score: 1,
            scorer_id: ids.scorer_id,
            scorer_version: 1,
            comment: 'c',
            metadata: { reason: 'r' },
          },
        },
        { s: { score: 1, scorer_id: 'scr_x' } },
        { s: { scorer_version: 1e300 } },
      ],
    };
  }
}

const DEFINITION = { language: 'javascript', source: 'function score() { return 1; }' };

/** Values for the members of one operation. */
const KNOWN_OF: Record<string, (objects: Objects) => Known> = {
  updateScorer: ({ scorer_id }) => ({
    definition: [DEFINITION],
    scorer_id: [scorer_id],
    scorer_kind: ['code'],
  }),
  createScore: ({ human_scorer_id, scorer_id }) => ({
    scorer_id: [human_scorer_id, human_scorer_id, human_scorer_id, scorer_id],
    scorer_version: [1, null],
    score: [true, false, 1, 0.5],
  }),
  createAnnotationQueue: ({ human_scorer_id, scorer_id, trace_id }) => ({
    scorer_ids: [[human_scorer_id], [human_scorer_id], [scorer_id]],
    source: [{ trace_ids: [trace_id] }, { filters: [] }, { experiment_id: 'exp_x' }],
  }),
  updateAnnotationQueue: ({ human_scorer_id, trace_id }) => ({
    scorer_ids: [[human_scorer_id]],
    source: [{ trace_ids: [trace_id] }],
    scores_per_item: [10],
  }),
  scoreAnnotationItem: ({ human_scorer_id, scorer_id }) => ({
    scores: [[{ scorer_id: human_scorer_id, score: true }], [{ scorer_id, score: 1 }], []],
  }),
};

/** Members that a later request may change. */
const LATER = { updated_at: undefined, superseded_at: undefined, superseded_by_score_id: undefined };

/** Expects no status of 500 or more, in the response or its items. */
function check({ status, body }: Answer): void {
  const items = status === 207 ? (body as { items: { status_code: number }[] }).items : [];
  // an expect() for each response would take longer than the request
  const failures = [status, ...items.map((item) => item.status_code)].filter((one) => !(one < 500));
  if (failures.length > 0) expect(failures).toEqual([]);
}

/** Returns whether an annotation item has all its scores, and must be replaced. */
const isScoredItem = ({ status, body }: Answer): boolean =>
  status === 200 && (body as { is_completed?: boolean } | undefined)?.is_completed === true;

/** Returns whether the experiment is finalized, and must be replaced. */
const hasFinalized = ({ status, body }: Answer): boolean =>
  status === 200 && (body as Partial<Experiment> | undefined)?.finalized_at != null;
