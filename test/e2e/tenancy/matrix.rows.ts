import { AGENTS_ROWS } from './agents.rows';
import { EVALUATION_ROWS } from './evaluation.rows';
import { FILES_ROWS } from './files.rows';
import { MCP_ENDPOINT_ROWS } from './mcp-endpoint.rows';
import { MODEL_GATEWAY_ROWS } from './model-gateway.rows';
import { REGISTRY_ROWS } from './registry.rows';
import type { Row } from './row.fixture';
import { STORE_ROWS } from './store.rows';
import { TELEMETRY_ROWS } from './telemetry.rows';

/** A row for every operation. A missing row fails the test. */
export const ROWS: Readonly<Record<string, Row>> = {
  ...REGISTRY_ROWS,
  ...AGENTS_ROWS,
  ...MODEL_GATEWAY_ROWS,
  ...FILES_ROWS,
  ...TELEMETRY_ROWS,
  ...EVALUATION_ROWS,
  ...STORE_ROWS,
  ...MCP_ENDPOINT_ROWS,
};
