import { describeFileMemory } from './file-memory.harness';

describeFileMemory(1024, 100, 15);
