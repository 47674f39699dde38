export { McpEndpointHttpModule } from './mcp-endpoint.http.module';
export { McpEndpointWorkerModule } from './mcp-endpoint.worker.module';
