import { Injectable, type OnModuleDestroy } from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';
import type { Reply, ServiceRequest } from '#platform/http';
import { RateLimits } from '#platform/rate-limit';
import type { Caller } from '../sessions/caller';
import type { McpTransport } from './mcp-transport';

/** Serves the endpoint. Loads the SDK on the first request, because it takes 27 MiB. */
@Injectable()
export class McpEndpointService implements OnModuleDestroy {
  private transport: Promise<McpTransport> | undefined;

  constructor(
    private readonly modules: ModuleRef,
    private readonly limits: RateLimits,
  ) {}

  /** Serves a request of an authenticated caller. */
  async serve(caller: Caller, request: ServiceRequest): Promise<Reply> {
    this.transport ??= this.load().catch((error: unknown) => {
      this.transport = undefined;
      throw error;
    });
    return (await this.transport).serve(caller, request);
  }

  async onModuleDestroy(): Promise<void> {
    await (await this.transport)?.close();
  }

  private async load(): Promise<McpTransport> {
    const { McpServerFactory } = await import('./mcp-server.factory.js');
    const { McpTransport } = await import('./mcp-transport.js');
    return new McpTransport(await this.modules.create(McpServerFactory), this.limits);
  }
}
