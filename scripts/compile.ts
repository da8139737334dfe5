/**
 * Loads the service and the administration command without starting either, so that Node keeps their compiled modules
 * in NODE_COMPILE_CACHE. For images: at run time nothing can be written there.
 */
import { flushCompileCache } from 'node:module';
import '../src/admin/program.ts';
import '../src/app/server.ts';

flushCompileCache();
