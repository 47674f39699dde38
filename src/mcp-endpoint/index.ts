export { McpEndpointHttpModule } from './mcp-endpoint.http.module';
