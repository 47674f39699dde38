import { Controller, HttpCode, Post, Req, UseGuards } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Throws } from '#platform/problem';
import { AllowedBy, type Member, RequireRoleInAnyWorkspace, workspaceInHeader } from '#platform/auth';
import { type Reply, RequestBody, RequestSignal, type ServiceRequest } from '#platform/http';
import { RateLimited } from '#platform/rate-limit';
import { McpEndpointService } from './mcp-endpoint.service';
import { TakesMessages } from './mcp.openapi';
import { OriginGuard } from './origin.guard';

/** The maximum size of a message, in bytes. */
const MESSAGE_MAX_BYTES = 1024 * 1024;

@ApiTags('MCP endpoint')
@Controller('mcp')
export class McpController {
  constructor(private readonly endpoint: McpEndpointService) {}

  /**
   * Send a message of the Model Context Protocol
   *
   * @remarks The endpoint serves revision 2026-07-28 and the revisions from 2024-11-05 to 2025-11-25. It is stateless: each request is independent, and the response is JSON. GET and DELETE return 405. Each tool requires the same role as the corresponding operation of the API.
   */
  @Post()
  @Throws('forbidden')
  @HttpCode(200)
  @TakesMessages()
  @RequireRoleInAnyWorkspace('viewer', 'runtime')
  @AllowedBy('read', 'tools')
  @UseGuards(OriginGuard)
  @RateLimited('proxy')
  @RequestBody({
    media: ['application/json'],
    codings: ['gzip'],
    limit: MESSAGE_MAX_BYTES,
  })
  serve(@Req() request: ServiceRequest, @RequestSignal() signal: AbortSignal): Promise<Reply> {
    const caller = {
      principal: request.user as Member,
      requestId: request.context.requestId,
      workspaceId: workspaceInHeader(request.headers),
      signal,
    };
    return this.endpoint.serve(caller, request);
  }
}
