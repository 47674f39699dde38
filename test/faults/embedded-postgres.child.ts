/**
 * A Node process with an embedded PostgreSQL, for tests that kill it. Writes one JSON line, `{url}` or
 * `{error}`, and stops the server when its standard input ends.
 */
import { startEmbeddedPostgres } from '#platform/embedded-postgres';

async function main(dataDir: string, ephemeral: boolean): Promise<void> {
  const server = await startEmbeddedPostgres({ dataDir, ephemeral });
  process.stdout.write(`${JSON.stringify({ url: server.url })}\n`);
  process.stdin.resume().once('end', () => void server.stop());
}

main(process.argv[2] ?? '', process.argv[3] === 'ephemeral').catch((error: unknown) => {
  process.stdout.write(`${JSON.stringify({ error: String(error) })}\n`);
});
