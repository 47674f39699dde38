import { type MiddlewareConsumer, Module, type NestModule, RequestMethod } from '@nestjs/common';
import type { NextFunction, Request, Response } from 'express';
import { Environment } from '#platform/config';
import { baseUrlOf, RESOURCE_METADATA } from '#platform/http';
import { SecretsModule } from '#platform/secrets';
import { AgentsModule } from '../agents';
import { DatasetsModule, ExperimentsModule, ScorersModule, ScoringModule } from '../evaluation';
import { FilesModule } from '../files';
import { McpServersModule } from '../mcp-servers';
import { RegistryModule, SearchModule } from '../registry';
import { ResourcesModule } from '../resources';
import { SkillsModule } from '../skills';
import { StoreModule } from '../store';
import { PromptCatalogue } from './prompts/prompt-catalogue';
import { FileResources } from './resources/file-resources';
import { ResourceCatalogue } from './resources/resource-catalogue';
import { SkillResources } from './resources/skill-resources';
import { StoredResultRepository } from './results/stored-result.repository';
import { SessionHandles } from './sessions/session-handle';
import { SessionService } from './sessions/session.service';
import { AgentTools } from './tools/agent.tools';
import { CallTools } from './tools/call.tools';
import { EvaluationTools } from './tools/evaluation.tools';
import { FileTools } from './tools/file.tools';
import { McpServerTools } from './tools/mcp-server.tools';
import { ScoringTools } from './tools/scoring.tools';
import { SearchTools } from './tools/search.tools';
import { SkillTools } from './tools/skill.tools';
import { StoreTools } from './tools/store.tools';
import { AllowedTools } from './tools/allowed-tools';
import { ToolCalls } from './tools/tool-calls';
import { ToolCatalogue } from './tools/tool-catalogue';
import { McpEndpointService } from './transport/mcp-endpoint.service';
import { McpController } from './transport/mcp.controller';
import { METADATA_PATH, ProtectedResourceController } from './transport/protected-resource.controller';

const TOOLS = [
  SearchTools,
  AgentTools,
  SkillTools,
  FileTools,
  McpServerTools,
  CallTools,
  StoreTools,
  EvaluationTools,
  ScoringTools,
];

/** The MCP endpoint at `/mcp`. */
@Module({
  imports: [
    AgentsModule,
    DatasetsModule,
    ExperimentsModule,
    FilesModule,
    McpServersModule,
    RegistryModule,
    ResourcesModule,
    ScorersModule,
    ScoringModule,
    SearchModule,
    SecretsModule,
    SkillsModule,
    StoreModule,
  ],
  controllers: [McpController, ProtectedResourceController],
  providers: [
    ...TOOLS,
    AllowedTools,
    FileResources,
    McpEndpointService,
    PromptCatalogue,
    ResourceCatalogue,
    SessionHandles,
    SessionService,
    SkillResources,
    StoredResultRepository,
    ToolCalls,
    ToolCatalogue,
  ],
})
export class McpEndpointHttpModule implements NestModule {
  constructor(private readonly environment: Environment) {}

  /** Sets the URL of the metadata that a 401 names, so that clients can find out how to get a token. */
  configure(consumer: MiddlewareConsumer): void {
    const setMetadataUrl = (request: Request, response: Response, next: NextFunction): void => {
      const url = baseUrlOf(this.environment, request);
      if (url !== null) response.locals[RESOURCE_METADATA] = url + METADATA_PATH;
      next();
    };
    consumer.apply(setMetadataUrl).forRoutes({ path: 'mcp', method: RequestMethod.POST });
  }
}
