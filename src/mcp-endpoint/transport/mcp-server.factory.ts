import { Injectable } from '@nestjs/common';
import { ProtocolError, ProtocolErrorCode, Server } from '@modelcontextprotocol/server';
import { AjvJsonSchemaValidator } from '@modelcontextprotocol/server/validators/ajv';
import { INSTRUCTIONS } from '../instructions';
import type { Caller } from '../sessions/caller';
import { ToolCalls } from '../tools/tool-calls';
import { ToolCatalogue } from '../tools/tool-catalogue';

const SERVER_INFO = { name: 'agent-registry-service', title: 'Agent registry', version: '1.0.0' };

/**
 * Creates the SDK's server for a request. It is the low-level one, with lists that are made once, because one with schemas
 * for each request takes several times as long.
 */
@Injectable()
export class McpServerFactory {
  /** Only validates what clients are asked for, which this server never does. Creating one takes a millisecond. */
  private readonly validator = new AjvJsonSchemaValidator();

  constructor(
    private readonly catalogue: ToolCatalogue,
    private readonly calls: ToolCalls,
  ) {}

  /* eslint-disable @typescript-eslint/no-deprecated -- the SDK deprecates it only for simple servers */
  create(caller: Caller): Server {
    const server = new Server(SERVER_INFO, {
      capabilities: { tools: {} },
      instructions: INSTRUCTIONS,
      jsonSchemaValidator: this.validator,
      cacheHints: { 'tools/list': { ttlMs: 60_000, cacheScope: 'private' } },
    });
    server.setRequestHandler('tools/list', ({ params }) => {
      if (params?.cursor !== undefined) throw unknownCursor();
      return { tools: this.catalogue.list(caller.principal) };
    });
    server.setRequestHandler('tools/call', ({ params }) =>
      this.calls.call(caller, params.name, params.arguments ?? {}),
    );
    return server;
  }
  /* eslint-enable @typescript-eslint/no-deprecated */
}

const unknownCursor = (): ProtocolError =>
  new ProtocolError(ProtocolErrorCode.InvalidParams, 'The cursor is not one of this list.');
