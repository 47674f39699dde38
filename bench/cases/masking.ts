import { protobufExport } from '../../libs/testing/otlp-export';
import type { Bench } from '../bench';
import { compare, timeCalls } from '../measure';
import { CALLS, messages, PER_CALL, perSecond, spans } from './traces';

const CLIENTS = 4;

/** Messages with an address and a phone number in every sentence. */
const PERSONAL = {
  'gen_ai.input.messages': messages('user', 'Write to jane.doe@example.com or call +49 151 12345678. ', 6),
};

/** Exports spans into a workspace without rules, and into one with all built-in rules. */
export async function masking(bench: Bench): Promise<void> {
  const builtins = ['email', 'phone', 'card', 'api_key'].map((builtin) => ({ builtin }));
  const body = { name: `masked ${Date.now()}`, masking: builtins };
  const { workspace_id } = await bench.http.json<{ workspace_id: string }>(
    'POST',
    '/registry/v1/workspaces',
    201,
    body,
  );
  const send =
    (workspaceId: string, personal = {}) =>
    async () => {
      const bodies = Array.from({ length: CALLS }, () => protobufExport(spans(personal)));
      const headers = { 'X-Service-Workspace-Id': workspaceId };
      return perSecond(
        await timeCalls(CALLS, CLIENTS, (call) =>
          bench.http.send(
            'POST',
            '/telemetry/v1/traces',
            200,
            bodies[call],
            'application/x-protobuf',
            headers,
          ),
        ),
      );
    };
  const result = await compare([
    { name: 'off', measure: send(bench.scope.workspaceId) },
    { name: 'on', measure: send(workspace_id) },
    { name: 'on, personal', measure: send(workspace_id, PERSONAL) },
  ]);
  bench.report(`export traces, ${PER_CALL} spans of 1 KB a call, ${CLIENTS} clients`, 'spans/s', result, [
    'without rules',
    'with all built-in rules',
    'with all built-in rules, 12 values to mask in each span',
  ]);
}
