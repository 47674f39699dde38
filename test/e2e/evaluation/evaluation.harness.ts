import { newId } from '#platform/ids';
import { type Answer, type ApiClient, newOrganization, type TestApp, type TestOrganization } from '#testing';
import type { DatasetDto } from '../../../src/evaluation/datasets/datasets/dataset.dto';
import type { ExperimentDto } from '../../../src/evaluation/experiments/experiments/experiment.dto';
import type { RecordDto, RecordVersionDto } from '../../../src/evaluation/datasets/records/record.dto';
import type { ResultDto } from '../../../src/evaluation/experiments/results/result.dto';

/** A view as clients receive it, with times as strings. */
export type Wire<View> = {
  [Member in keyof View]: Date extends View[Member] ? Exclude<View[Member], Date> | string : View[Member];
};
export type Dataset = Wire<DatasetDto>;
export type Experiment = Wire<ExperimentDto>;
export type DatasetRecord = Wire<RecordDto>;
export type RecordVersion = Wire<RecordVersionDto>;
export type Result = Wire<ResultDto>;

export interface Page<Item> {
  items: Item[];
  page: { limit: number; offset: number; total: number | null; next_cursor: string | null };
}

export interface ProblemBody {
  status: number;
  code: string;
  detail: string;
  errors?: { pointer?: string; parameter?: string; detail: string }[];
}

export interface BulkResponse {
  items: {
    index: number;
    status_code: number;
    result?: Result;
    record?: DatasetRecord;
    error?: ProblemBody;
  }[];
}

type Fields = Record<string, unknown>;

/** RFC 3339 in UTC with milliseconds. */
export const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

/** An organization for one test, and clients with each role in its workspace. */
export class EvaluationWorkspace {
  private names = 0;

  private constructor(
    readonly organization: TestOrganization,
    readonly editorId: string,
    readonly editor: ApiClient,
    readonly viewer: ApiClient,
    readonly evaluator: ApiClient,
  ) {}

  static async open(app: TestApp): Promise<EvaluationWorkspace> {
    const organization = await newOrganization(app);
    const editorId = newId('usr');
    const token = await organization.tokenOf(editorId, { roles: ['editor'] });
    return new EvaluationWorkspace(
      organization,
      editorId,
      app.api(token).in(organization.workspaceId),
      await organization.as('viewer'),
      await organization.as('evaluator'),
    );
  }

  get id(): string {
    return this.organization.workspaceId;
  }

  /** Posts a body with the id of the workspace. */
  post<Body>(path: string, fields: Fields = {}, headers?: Record<string, string>): Promise<Answer<Body>> {
    return this.editor.post<Body>(path, { workspace_id: this.id, ...fields }, headers);
  }

  async dataset(fields: Fields = {}): Promise<Dataset> {
    return created(
      await this.post<Dataset>('/eval/v1/datasets', { name: `dataset ${++this.names}`, ...fields }),
    );
  }

  async record(datasetId: string, fields: Fields = {}): Promise<DatasetRecord> {
    const path = `/eval/v1/datasets/${datasetId}/records`;
    return created(await this.post<DatasetRecord>(path, { input: 'question', ...fields }));
  }

  async experiment(fields: Fields = {}): Promise<Experiment> {
    return created(await this.post<Experiment>('/eval/v1/experiments', { name: 'evaluation', ...fields }));
  }

  async result(experimentId: string, fields: Fields = {}): Promise<Result> {
    const path = `/eval/v1/experiments/${experimentId}/results`;
    return created(await this.post<Result>(path, { case_id: `case ${++this.names}`, ...fields }));
  }

  /** Adds results in bulk. Returns the status of each item. */
  async results(experimentId: string, items: unknown[]): Promise<number[]> {
    const path = `/eval/v1/experiments/${experimentId}/results/bulk`;
    return statuses(await this.post<BulkResponse>(path, { items }));
  }

  async finalize(experimentId: string, fields: Fields = {}): Promise<Experiment> {
    const path = `/eval/v1/experiments/${experimentId}`;
    const answer = await this.editor.patch<Experiment>(path, { experiment_status: 'completed', ...fields });
    if (answer.status !== 200) throw new Error(`not finalized: ${JSON.stringify(answer.body)}`);
    return answer.body;
  }

  async archive<View>(path: string): Promise<View> {
    const answer = await this.evaluator.post<View>(`${path}/archive`);
    if (answer.status !== 200) throw new Error(`not archived: ${JSON.stringify(answer.body)}`);
    return answer.body;
  }

  /** Returns the items of a list. */
  async list<Item>(path: string): Promise<Item[]> {
    const answer = await this.viewer.get<Page<Item>>(path);
    if (answer.status !== 200) throw new Error(`not listed: ${JSON.stringify(answer.body)}`);
    return answer.body.items;
  }

  /** Returns an editor of the same organization in another workspace. */
  async sibling(): Promise<ApiClient> {
    return this.editor.in(await this.organization.newWorkspace());
  }
}

function created<View>(answer: Answer<View>): View {
  if (answer.status !== 201) throw new Error(`not created: ${JSON.stringify(answer.body)}`);
  return answer.body;
}

/** Returns the status and the code of a response. */
export const outcome = (answer: Answer<unknown>): [number, string | undefined] => [
  answer.status,
  (answer.body as Partial<ProblemBody> | undefined)?.code,
];

/** Returns the pointers and parameters that a problem names. */
export const places = (answer: Answer<unknown>): (string | undefined)[] =>
  ((answer.body as Partial<ProblemBody>).errors ?? []).map((one) => one.pointer ?? one.parameter);

/** Returns the status of each item of a bulk response, after checking that the items are in the order sent. */
export function statuses(answer: Answer<BulkResponse>): number[] {
  if (answer.status !== 207) throw new Error(`no bulk response: ${JSON.stringify(answer.body)}`);
  return answer.body.items.map((item, index) => {
    if (item.index !== index) throw new Error(`item ${index} has the index ${item.index}`);
    return item.status_code;
  });
}

/** Returns the sorted statuses of responses. */
export const statusesOf = (answers: Answer<unknown>[]): number[] =>
  answers.map((answer) => answer.status).sort((a, b) => a - b);

/** JSON values of all kinds, for free-form members. */
export const FREE_FORM_VALUES: unknown[] = [
  null,
  true,
  0,
  -1.5e300,
  '',
  'text\nwith "quotes", \\ and é 😀',
  [],
  [null, [[]], {}],
  { z: 1, a: { y: [], b: null }, '': 0, __proto: 'x' },
];

/** Ids of no resource that the caller can see, of any kind. */
export const UNKNOWN_IDS = ['x', "'; --", '%00', 'ds_00000000000000000000000000', 'a'.repeat(300)];
