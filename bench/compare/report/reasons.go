package report

// Reasons of missed targets, as profiles and the other columns of the run show
// them. A reason appears only beside a target that the run missed.
const (
	reasonMemory    = "The state of a window is looked up, moved on and described in every decision; a fixed window keeps one number."
	reasonBytes     = "A key keeps the name, the expiry and the slots of its counter."
	reasonKeys      = "The bytes of a key, its place in the table and its counter are three loads, each of which waits for the one before. Of the time above that for one key, two thirds are the waits for the place and the counter (profile)."
	reasonThreads   = "Both threads share the machine's caches and clock: sharded maps, which share nothing else, show what that leaves."
	reasonUpdate    = "The update carries the condition and the slots of the window. The client writes that request and reads that answer, and the engine evaluates it: see client and server CPU."
	reasonContended = "An update whose condition another write has changed is sent again."
	reasonBucket    = "An update whose condition another write has changed is sent again."
	reasonFleet     = "A full bucket and a draining one take different updates, and at half load either is as likely. A process whose snapshot is old sends a second one if the first was wrong."
	reasonFlood     = "Of 60 requests one is admitted. With a write for each admission, free denials would give 60 × bare at most; clients that share writes get more."
	reasonScript    = "The server's one thread runs the script, and the client packs its arguments and reads its answer: see server CPU, scripts and client CPU."
	reasonRules     = "A decision finds its rules, writes a key and the name of a counter, and charges that. Its answer and the name are one allocation."
	reasonHandler   = "The answer is built as a policy with a context, and the request is read from the event."
	reasonLambda    = "The authorizer's binary is larger, and it reads and compiles rules before its first answer."
	reasonReplay    = "Lines are parsed, sorted by time and decided one after another."
)

// explanations say why a chart is not flat.
var explanations = map[string]string{
	"keys in memory":      "More keys than fit the processor's caches make each look-up wait for memory; the bare map waits as well.",
	"slots in memory":     "More slots are more numbers to read.",
	"slots in Redis":      "A new slot and a denial read the slots of the window.",
	"slots in DynamoDB":   "The engine stores and returns the slots of the item.",
	"clients in memory":   "All clients use one key, and so one lock.",
	"clients on Redis":    "Clients share the server's one thread, so the length of a script counts. The more of them wait for one key, the more share a call.",
	"clients on DynamoDB": "Clients of one process share writes to one item, so more of them decide more in one round trip.",
	"rules":               "A request is compared with the rules that share the beginning of its path, and those of all paths.",
	"overrides":           "A request looks its key up among the overrides.",
}
