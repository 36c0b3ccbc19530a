package value

// Weekdays are the days of the week as the macro weekday_of names them, in their order.
var Weekdays = [...]string{"Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"}
