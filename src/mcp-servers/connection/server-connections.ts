import { Injectable } from '@nestjs/common';
import { Environment } from '#platform/config';
import { OutboundHttp } from '#platform/outbound';
import type { McpConnector } from './mcp-connector';
import type { McpSession, OperationKind } from './mcp-session';
import { type ConnectionTarget, ServerCredentials } from './server-credentials';

/** Connects to registered servers. Loads the SDK at the first connection, because it takes 27 MiB. */
@Injectable()
export class ServerConnections {
  private connector: Promise<McpConnector> | undefined;

  constructor(
    private readonly environment: Environment,
    private readonly outbound: OutboundHttp,
    private readonly credentials: ServerCredentials,
  ) {}

  /** Runs one operation on a server. See `McpConnector.run`. */
  async run<Result>(
    server: ConnectionTarget,
    kind: OperationKind,
    signal: AbortSignal | undefined,
    work: (session: McpSession) => Promise<Result>,
  ): Promise<Result> {
    this.connector ??= this.load().catch((error: unknown) => {
      this.connector = undefined;
      throw error;
    });
    return (await this.connector).run(server, kind, signal, work);
  }

  private async load(): Promise<McpConnector> {
    const { McpConnector } = await import('./mcp-connector.js');
    return new McpConnector(this.environment, this.outbound, this.credentials);
  }
}
