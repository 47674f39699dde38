import os from 'node:os';
import { StandaloneService } from '#testing';
import { Bench } from './bench';
import { modelGateway } from './cases/gateway';
import { apiProxy } from './cases/proxy';
import { agreement } from './cases/agreement';
import { attacks } from './cases/attacks';
import { compareExperiments } from './cases/compare';
import { deleteDataset, eraseUser } from './cases/deletion';
import { csvIngest, pinnedResults } from './cases/csv';
import { fileTransfer, smallFiles } from './cases/files';
import { evaluations } from './cases/evaluate';
import { finalize } from './cases/finalize';
import { readById, listResults } from './cases/reads';
import { freshTables } from './cases/fresh-tables';
import { listCases } from './cases/cases';
import { bulkRecords, exportRecords, importRecords, listRecords, search } from './cases/records';
import { listAgents, reconcile } from './cases/registry';
import { bulkResults, singleResult } from './cases/results';
import { judgedRuns, judgedRunsAtOnce, scoredPerSecond } from './cases/judges';
import { masking } from './cases/masking';
import { mcpEndpoint, refreshServer } from './cases/mcp';
import { scores } from './cases/scores';
import { scoringRules } from './cases/rules';
import { codeTargets, noopScorer, requestRuns, scoreBatch } from './cases/scoring';
import { rotateSecrets } from './cases/secrets';
import { searchRegistry } from './cases/search';
import { keyedCreates, singleCreates } from './cases/single-creates';
import { readTraces } from './cases/trace-reads';
import { listStore, publishAgent } from './cases/store';
import { traceSorts } from './cases/trace-sorts';
import { spanStats, transcript } from './cases/span-stats';
import { traceStats } from './cases/trace-stats';
import { exportTraces, timeToReadable } from './cases/traces';
import { waiting } from './cases/waiting';
import { Direct, scopeOf } from './direct';
import { Http } from './http';
import { BenchJudge } from './judge';

const CONNECTIONS = 16;

const CASES: Record<string, (bench: Bench) => Promise<void>> = {
  'fresh-tables': freshTables, // first, because its tables have to be new
  'bulk-results': bulkResults,
  'single-result': singleResult,
  'read-by-id': readById,
  'single-creates': singleCreates,
  'keyed-creates': keyedCreates,
  finalize,
  compare: compareExperiments,
  agreement,
  'bulk-records': bulkRecords,
  'list-records': listRecords,
  cases: listCases,
  search,
  'export-records': exportRecords,
  'import-records': importRecords,
  'delete-dataset': deleteDataset,
  'erase-user': eraseUser,
  'export-traces': exportTraces,
  masking,
  'time-to-readable': timeToReadable,
  'read-traces': readTraces,
  'trace-stats': traceStats,
  'trace-sorts': traceSorts,
  'span-stats': spanStats,
  transcript,
  scores,
  'noop-scorer': noopScorer,
  'code-targets': codeTargets,
  'request-runs': requestRuns,
  'score-batch': scoreBatch,
  rules: scoringRules,
  'scored-per-second': scoredPerSecond,
  waiting,
  'judged-runs': judgedRuns,
  'judged-runs-at-once': judgedRunsAtOnce,
  'csv-ingest': csvIngest,
  'pinned-results': pinnedResults,
  'list-results': listResults,
  'list-agents': listAgents,
  reconcile,
  'search-registry': searchRegistry,
  'file-transfer': fileTransfer,
  'small-files': smallFiles,
  'publish-agent': publishAgent,
  'list-store': listStore,
  'mcp-endpoint': mcpEndpoint,
  'refresh-server': refreshServer,
  evaluate: evaluations,
  'api-proxy': apiProxy,
  'model-gateway': modelGateway,
};

/** Benchmarks that start their own services. They run only if they are named. */
const SEPARATE: Record<string, () => Promise<void>> = { attacks, 'rotate-secrets': rotateSecrets };

/** Runs the benchmarks named on the command line, or all of {@link CASES}. */
async function main(names: string[]): Promise<void> {
  const cases = { ...CASES, ...SEPARATE };
  const unknown = names.find((name) => !cases[name]);
  if (unknown) throw new Error(`Unknown benchmark ${unknown}. Available: ${Object.keys(cases).join(', ')}.`);
  process.stdout.write(
    `Node ${process.version}, ${os.cpus().length} cores (${os.cpus()[0]?.model.trim()})\n`,
  );
  for (const name of names) await SEPARATE[name]?.();
  const shared = names.length > 0 ? names.filter((name) => CASES[name]) : Object.keys(CASES);
  if (shared.length > 0) await runShared(shared);
}

/** Runs benchmarks one after the other on the same service. */
async function runShared(names: string[]): Promise<void> {
  const judge = await BenchJudge.listen();
  const service = await StandaloneService.start({
    env: { ...judge.env, RATE_LIMIT_STORE_LISTING: '1000000', OUTBOUND_ALLOW: '127.0.0.0/8' },
  });
  const { base_url, org_id, workspace_id, api_key } = service.bootstrap;
  const headers = { Authorization: `Bearer ${api_key}`, 'X-Service-Workspace-Id': workspace_id };
  const http = new Http(new URL(base_url), headers, CONNECTIONS);
  const direct = new Direct(service.databaseUrl, CONNECTIONS);
  try {
    const bench = new Bench(
      scopeOf(org_id, workspace_id),
      http,
      direct,
      judge,
      () => service.addWorker(),
      () => service.memory(),
    );
    for (const name of names) {
      try {
        await CASES[name]!(bench);
      } catch (error) {
        fail(new Error(`The benchmark ${name} failed.`, { cause: error }));
      }
    }
  } finally {
    http.close();
    await direct.close();
    await service.stop();
    judge.close();
  }
}

/** Reports an error, and makes the process exit with code 1. */
function fail(error: unknown): void {
  console.error(error);
  process.exitCode = 1;
}

main(process.argv.slice(2)).catch(fail);
