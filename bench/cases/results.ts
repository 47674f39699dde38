import { randomBytes } from 'node:crypto';
import { Environment } from '#platform/config';
import { newId } from '#platform/ids';
import { RawJson } from '#platform/json';
import {
  type NewResultRow,
  ResultRepository,
} from '../../src/evaluation/experiments/results/result.repository';
import { ScoreRepository } from '../../src/evaluation/scores/score.repository';
import { readScores, scoreRowsOf } from '../../src/evaluation/scores/uploaded-scores';
import type { Bench } from '../bench';
import { compare, timeCalls } from '../measure';

const CLIENTS = 4;
const PER_CALL = 100;
const BULK_CALLS = 60;
const SINGLE_CALLS = 600;

/** Returns a result of about 1 KB: a question, an answer, two scores, and a trace and a session without human scores. */
function fields(caseId: string) {
  return {
    case_id: caseId,
    input: { question: `${'What is the sum of these numbers? '.repeat(8)}${caseId}` },
    expected: { answer: 'e'.repeat(50) },
    metadata: { split: 'test', language: 'en' },
    tags: ['bench'],
    output: { text: 'The sum is found step by step. '.repeat(13), tokens: 120 },
    scores: { correct: 1, similarity: 0.5 },
    trace_id: randomBytes(16).toString('hex'),
    session_id: `session of ${caseId}`,
    duration_ms: 12.5,
  };
}

const json = (value: unknown): RawJson => new RawJson(JSON.stringify(value));

function row(bench: Bench, experimentId: string, caseId: string, at: Date): NewResultRow {
  const { scores: _, ...content } = fields(caseId);
  return {
    ...content,
    result_id: newId('res'),
    experiment_id: experimentId,
    workspace_id: bench.scope.workspaceId,
    input: json(content.input),
    expected: json(content.expected),
    metadata: json(content.metadata),
    output: json(content.output),
    error: null,
    dataset_record_id: null,
    dataset_record_version: null,
    trial_group: null,
    trial_index: null,
    version: 1,
    generation: 1,
    erased: false,
    is_expected: false,
    takes_input: false,
    takes_expected: false,
    takes_tags: false,
    created_at: at,
    updated_at: at,
    created_by: bench.scope.principalId,
  };
}

/** Runs the transaction in which the service writes results, without the service. */
async function writeDirectly(bench: Bench, experimentId: string, caseIds: string[]): Promise<void> {
  const results = new ResultRepository(bench.direct.database);
  const scores = new ScoreRepository(bench.direct.database, new Environment());
  const at = new Date();
  const rows = caseIds.map((caseId) => row(bench, experimentId, caseId, at));
  const scoreRows = rows.flatMap((one) => scoreRowsOf(one, readScores(fields(one.case_id).scores)));
  await bench.direct.transaction(async (tx) => {
    await results.lockExperiment(tx, bench.scope, experimentId);
    await results.writeMany(tx, bench.scope, experimentId, rows, { at, replaces: false });
    await scores.insertUploaded(tx, bench.scope, experimentId, scoreRows, at);
  });
}

async function compareWrites(
  bench: Bench,
  calls: number,
  perCall: number,
  title: string,
  unit: string,
): Promise<void> {
  const caseIds = (side: string, round: number, call: number): string[] =>
    Array.from({ length: perCall }, (_, i) => `${side}-${round}-${call}-${i}`);
  const directExperiment = await bench.newExperiment();
  const serviceExperiment = await bench.newExperiment();
  const route = `/eval/v1/experiments/${serviceExperiment}/results`;
  const result = await compare([
    {
      name: 'direct',
      measure: async (round) => {
        const ms = await timeCalls(calls, CLIENTS, (call) =>
          writeDirectly(bench, directExperiment, caseIds('direct', round, call)),
        );
        return (calls * perCall * 1000) / ms;
      },
    },
    {
      name: 'service',
      measure: async (round) => {
        const bodies = Array.from({ length: calls }, (_, call) => {
          const items = caseIds('service', round, call).map(fields);
          const { workspaceId: workspace_id } = bench.scope;
          return JSON.stringify(perCall === 1 ? { workspace_id, ...items[0] } : { workspace_id, items });
        });
        const ms = await timeCalls(calls, CLIENTS, (call) =>
          perCall === 1
            ? bench.http.send('POST', route, 201, bodies[call])
            : bench.http.send('POST', `${route}/bulk`, 207, bodies[call]),
        );
        return (calls * perCall * 1000) / ms;
      },
    },
  ]);
  bench.report(title, unit, result);
}

export const bulkResults = (bench: Bench): Promise<void> =>
  compareWrites(
    bench,
    BULK_CALLS,
    PER_CALL,
    `bulk results, ${PER_CALL} of 1 KB a call, ${CLIENTS} clients`,
    'results/s',
  );

export const singleResult = (bench: Bench): Promise<void> =>
  compareWrites(bench, SINGLE_CALLS, 1, `single result, ${CLIENTS} clients`, 'results/s');
